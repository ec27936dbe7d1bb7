// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// In each case, another client undoes every repair. The field pauses has the time between each repair and its undoing.
// The field want has the time that the manager then waits before it repairs the object again.
func TestHowLongContestedRepairsWait(t *testing.T) {
	seconds := func(all ...int) []time.Duration {
		var waits []time.Duration
		for _, s := range all {
			waits = append(waits, time.Duration(s)*time.Second)
		}
		return waits
	}
	every := func(pause time.Duration, n int) []time.Duration {
		pauses := make([]time.Duration, n)
		for i := range pauses {
			pauses[i] = pause
		}
		return pauses
	}
	for name, test := range map[string]struct {
		pauses    []time.Duration // between a repair and the other client's change
		want      []time.Duration
		contested bool
	}{
		"five repairs are immediate, the sixth waits, and each wait doubles up to half an hour": {
			pauses: every(time.Second, 13), contested: true,
			want: seconds(0, 0, 0, 0, 0, 59, 119, 239, 479, 959, 1799, 1799, 1799),
		},
		"an object that drifts every three minutes is repaired at once": {
			pauses: every(3*time.Minute, 9), want: seconds(0, 0, 0, 0, 0, 0, 0, 0, 0),
		},
		"ten minutes without drift end the contest": {
			pauses: append(every(time.Second, 6), 10*time.Minute, time.Second, time.Second),
			want:   seconds(0, 0, 0, 0, 0, 59, 0, 0, 0),
		},
		"a little less than ten minutes without drift do not": {
			pauses: append(every(time.Second, 6), 10*time.Minute-time.Second, time.Second), contested: true,
			want: seconds(0, 0, 0, 0, 0, 59, 0, 239),
		},
		"a longer pause between repairs needs as long a time without drift": {
			pauses: append(every(time.Second, 10), 20*time.Minute, time.Second), contested: true,
			want: seconds(0, 0, 0, 0, 0, 59, 119, 239, 479, 959, 600, 1799),
		},
		"which then ends the contest": {
			pauses: append(every(time.Second, 10), 30*time.Minute, time.Second),
			want:   seconds(0, 0, 0, 0, 0, 59, 119, 239, 479, 959, 0, 0),
		},
	} {
		t.Run(name, func(t *testing.T) {
			now, c := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), &driftBackoff{}
			var got []time.Duration
			for _, pause := range test.pauses {
				now = now.Add(pause)
				o := drift(v1alpha1.DriftChanged, "1")
				wait := c.drifted(&o, now)
				got = append(got, wait)
				if again := c.drifted(&o, now); again != wait {
					t.Fatalf("asked twice it says %s, then %s", wait, again)
				}
				if now = now.Add(wait); c.drifted(&o, now) != 0 {
					t.Fatal("the repair is due, and still waits")
				}
				c.repaired(now)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if c.isContested() != test.contested || len(c.repairs) > maxRepairs {
				t.Errorf("contested: %v, %d repairs kept", c.isContested(), len(c.repairs))
			}
		})
	}
}

func TestWhenTheHistoryOfAnObjectEnds(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := drift(v1alpha1.DriftChanged, "1")
	for name, test := range map[string]struct {
		play func(*driftBackoff)
		want time.Duration // counted from start
	}{
		"after a repair":                          {func(c *driftBackoff) { c.repaired(start) }, repairWindow},
		"not while it has drifted":                {func(c *driftBackoff) { c.repaired(start.Add(-time.Hour)); c.drifted(&o, start) }, repairWindow},
		"after the other client undid its change": {func(c *driftBackoff) { c.drifted(&o, start); c.resolved(start) }, repairWindow},
		"after a long pause between repairs":      {func(c *driftBackoff) { c.apart = 8 * time.Minute; c.repaired(start) }, 16 * time.Minute},
		"without any drift":                       {func(*driftBackoff) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &driftBackoff{}
			test.play(c)
			if diff := cmp.Diff(test.want, c.endsIn(start)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheContestedMessageNamesTheOtherClientAndTheRemedies(t *testing.T) {
	long := strings.Repeat("x", 250)
	for name, test := range map[string]struct {
		object v1alpha1.ObjectStatus
		want   string
	}{
		"one field": {v1alpha1.ObjectStatus{Kind: "Deployment", Name: "web", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged, Manager: "hpa",
			Fields: []string{".spec.replicas"}}}, "Deployment web: hpa changes .spec.replicas after every repair: "},
		"more": {v1alpha1.ObjectStatus{Kind: "Deployment", Name: "web", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged, Manager: "hpa",
			Fields: []string{".a", ".b", ".c"}}}, "Deployment web: hpa changes .a and 2 more after every repair: "},
		"Fairlead's field manager": {v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "a", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged, Manager: "fairlead"}},
			"ConfigMap a: another client with Fairlead's field manager changes it after every repair: "},
		"deleted": {drift(v1alpha1.DriftGone, "1"), "ConfigMap a is deleted after every repair: "},
		"replaced": {v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "a", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftReplaced, Manager: "helm"}},
			"ConfigMap a is replaced by helm after every repair: "},
		"long names": {v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: long, Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged, Manager: long,
			Fields: []string{long, "b"}}}, "ConfigMap xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			got := contestedMessage(&test.object)
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("%s", got)
			}
			if line := health.Clean(got, 256); !strings.Contains(line, "set drift: Report") {
				t.Errorf("a status line cuts the remedy off: %s", line)
			}
		})
	}
}

func drift(kind v1alpha1.DriftKind, version string) v1alpha1.ObjectStatus {
	return v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "a", Drift: &v1alpha1.Drift{Kind: kind, ResourceVersion: version}}
}
