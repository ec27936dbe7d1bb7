// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestTheLimitOfRemovals(t *testing.T) {
	number, percent := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }, func(p string) *intstr.IntOrString { return new(intstr.FromString(p)) }
	for name, test := range map[string]struct {
		placed     int
		maxRemoval *intstr.IntOrString
		want       int
	}{
		"30% where nothing is said":              {placed: 10, want: 3},
		"a share is rounded down":                {placed: 19, want: 5},
		"one always may, of few":                 {placed: 3, want: 1},
		"and of one":                             {placed: 1, want: 1},
		"a number is a number":                   {placed: 10, maxRemoval: number(4), want: 4},
		"a number past all of them is all":       {placed: 10, maxRemoval: number(40), want: 10},
		"all of them":                            {placed: 10, maxRemoval: percent("100%"), want: 10},
		"a hair of them is one":                  {placed: 10, maxRemoval: percent("1%"), want: 1},
		"none, past the schema, is one as well":  {placed: 10, maxRemoval: number(0), want: 1},
		"less, past the schema, is one as well ": {placed: 10, maxRemoval: number(-3), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.placed)
			w.maxRemoval = test.maxRemoval
			w.label(false)
			w.expect(test.placed-test.want, test.want, test.placed-test.want)
		})
	}
	in := Input{Wrapper: wrapper(1), MaxRemoval: percent("some")}
	if _, err := Decide(in, start); err == nil || !strings.HasPrefix(err.Error(), "placing: spec.rollout.maxRemoval: ") {
		t.Errorf("a maxRemoval that says nothing: %v", err)
	}
}

func TestWithoutALimitAMemberCanBeLeftTwiceWithinTheHour(t *testing.T) {
	w := newWorld(t, 2)
	w.maxRemoval = new(intstr.FromString("100%"))
	for range 3 {
		w.label(false)
		w.expect(0, 2, 0)
		w.label(true)
		w.expect(2, 0, 0)
	}
}

func TestARemovalFromAllMembersWaitsAndCanBeCancelled(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false)
	w.expect(7, 3, 7)
	for _, words := range []string{
		"no longer selects 7 of the 10 members that have this wrapper: m03, ", "run `hostctl approve web -n shop --removal`", "restore spec.placement or the labels",
		"allows 3 removals from 10 members within an hour, and 3 have begun. The manager may begin the next at 2026-01-02T04:04:06Z",
	} {
		if !strings.Contains(w.last.Message, words) {
			t.Errorf("it does not say %q: %s", words, w.last.Message)
		}
	}
	w.label(true)
	w.expect(10, 0, 0)
	// All members are selected again. The removals that began still count, so no other removal may begin within the
	// hour.
	w.label(false)
	w.expect(10, 0, 10)
}

func TestMoreRemovalsBeginAfterAnHour(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false)
	if got := w.last.Again.Sub(w.now); got < time.Hour || got > time.Hour+time.Second {
		t.Fatalf("it comes back after %s", got)
	}
	first := w.last.Again
	w.later(time.Hour) // Again is up to a second later, because the status has no fractions of a second
	w.expect(7, 3, 7)
	w.now = first
	w.decide()
	w.expect(5, 5, 5) // 30% of 7
	w.later(time.Hour)
	w.expect(4, 6, 4) // 30% of 5
	for range 4 {
		w.later(time.Hour)
	}
	w.expect(0, 10, 0)
}

func TestAnHourHasFewEntries(t *testing.T) {
	w := newWorld(t, 200)
	w.maxRemoval = new(intstr.FromString("100%"))
	for i := range 200 {
		w.label(false, fmt.Sprintf("m%02d", i))
		w.later(18 * time.Second)
	}
	w.expect(0, 200, 0)
	if got := len(w.status.Removals); got > 62 {
		t.Errorf("%d entries, of which the schema takes 64", got)
	}
}

func TestAMissingMemberClusterIsNoRemoval(t *testing.T) {
	w := newWorld(t, 10)
	for i := range 5 {
		delete(w.in, fmt.Sprintf("m%02d", i))
	}
	w.decide()
	w.expect(5, 0, 0)
	if len(w.status.Removals) > 0 {
		t.Errorf("removals: %v", w.status.Removals)
	}
	w.label(false)
	w.expect(4, 1, 4)
	delete(w.in, "m09") // the MemberCluster of a withheld member is deleted
	w.decide()
	w.expect(3, 1, 3)
}

func TestAMoveOfTheWholeFleetDoesNotRaiseItsLimit(t *testing.T) {
	w := newWorld(t, 20)
	w.in = map[string]bool{}
	for i := range 20 {
		w.in[fmt.Sprintf("m%02d", i)] = i < 10
	}
	w.status = v1alpha1.PlacementStatus{}
	w.decide()
	w.expect(10, 0, 0)
	for name, in := range w.in {
		w.in[name] = !in
	}
	w.decide()
	w.expect(17, 3, 7)
}

func TestAClockThatWasSetBackBlocksNoRemovalForEver(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false)
	w.later(-24 * time.Hour)
	w.expect(7, 3, 7)
	w.later(time.Hour + time.Second)
	w.expect(5, 5, 5)
}

func TestAnExpiredRemovalCausesNoWrite(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false, "m00")
	before := w.status
	w.later(2 * time.Hour)
	if diff := cmp.Diff(before, w.status); diff != "" {
		t.Errorf("a host at rest writes:\n%s", diff)
	}
}

// Labels change at random, and members join and leave the fleet. Within any hour, at most as many removals may begin as
// the limit allows, computed from the members that were placed when the first of them began. No member may be withheld
// while the limit leaves room, and no member without a MemberCluster may be placed.
func TestNoHourHasMoreRemovalsThanTheLimit(t *testing.T) {
	type removal struct {
		at     time.Time
		placed int
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		w := newWorld(t, 4+random.IntN(30))
		var history []removal
		for range 150 {
			before := w.status.Clusters
			switch name := fmt.Sprintf("m%02d", random.IntN(40)); random.IntN(8) {
			case 0:
				delete(w.in, name)
			case 1:
				w.in[name] = true
			case 2:
				w.label(random.IntN(2) == 0)
			default:
				if _, exists := w.in[name]; exists {
					w.in[name] = random.IntN(4) == 0
				}
			}
			// label has made one decision already. The test counts the removals of that decision and of this one
			// together.
			w.decide()
			var placed, gone int
			for _, name := range before {
				if _, exists := w.in[name]; !exists {
					continue
				}
				placed++
				if !slices.Contains(w.status.Clusters, name) {
					gone++
				}
			}
			for range gone {
				history = append(history, removal{w.now, placed})
			}
			var within []removal
			for _, r := range history {
				if r.at.After(w.now.Add(-time.Hour)) {
					within = append(within, r)
				}
			}
			if gone > 0 && len(within) > max(1, within[0].placed*3/10) {
				t.Fatalf("%d removals within an hour, of %d", len(within), within[0].placed)
			}
			if len(w.status.Removals) > 62 {
				t.Fatalf("%d entries", len(w.status.Removals))
			}
			w.now = w.now.Add(time.Duration(random.IntN(600)) * time.Second * time.Duration(random.IntN(2)))
			w.now = w.now.Add(time.Duration(random.IntN(2000)) * time.Millisecond)
		}
	}
}

// A script changes the label of one member each minute. All these removals together must stay within the limit.
func TestRelabellingMembersOneByOneIsLimitedToo(t *testing.T) {
	w := newWorld(t, 10)
	for i := range 10 {
		w.label(false, fmt.Sprintf("m%02d", i))
		w.later(time.Minute)
	}
	w.expect(7, 3, 7)
	if diff := cmp.Diff([]string{"m03", "m04", "m05", "m06", "m07", "m08", "m09"}, w.status.Withheld); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
