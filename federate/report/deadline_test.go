// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// unwellMember returns a member with one object that is not healthy.
func unwellMember(kind string, h v1alpha1.Health) Member {
	return with(func(m *Member) {
		m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: kind, Name: "db", Health: h, Reason: "Because", Message: "1 of 3 are ready"})
	})
}

func TestAMemberHasADeadlineWhileWorkGoesOnThere(t *testing.T) {
	for name, test := range map[string]struct {
		m     Member
		given time.Duration
		want  time.Duration
	}{
		"healthy":                         {m: wellMember("east")},
		"a workload that makes progress":  {m: unwellMember("StatefulSet", v1alpha1.Progressing), want: 10 * time.Minute},
		"a workload that is degraded":     {m: unwellMember("Deployment", v1alpha1.Degraded), want: 10 * time.Minute},
		"an operator that OLM installs":   {m: unwellMember("Subscription", v1alpha1.Progressing), want: 15 * time.Minute},
		"an extension that OLM installs":  {m: unwellMember("ClusterExtension", v1alpha1.Degraded), want: 15 * time.Minute},
		"a Job that runs":                 {m: unwellMember("Job", v1alpha1.Progressing)},
		"a Job that failed":               {m: unwellMember("Job", v1alpha1.Degraded), want: 10 * time.Minute},
		"a Pod that runs":                 {m: unwellMember("Pod", v1alpha1.Progressing)},
		"the spec gives a deadline":       {m: unwellMember("Subscription", v1alpha1.Progressing), given: time.Minute, want: time.Minute},
		"the spec gives one for a Job":    {m: unwellMember("Job", v1alpha1.Progressing), given: time.Minute, want: time.Minute},
		"it waits for a pod that uses it": {m: unwellMember("PersistentVolumeClaim", v1alpha1.Waiting)},
		"the push is running":             {m: with(func(m *Member) { m.Held = false }), want: 10 * time.Minute},
		"the collector has not reported":  {m: with(func(m *Member) { m.Judged = true }), want: 10 * time.Minute},
		"the manager cannot reach it":     {m: with(func(m *Member) { m.Reachability = Reachability{Known: true} })},
		"the wrapper is leaving it":       {m: with(func(m *Member) { m.Leaving = true })},
		"it waits for its wave":           {m: with(func(m *Member) { m.Wait = Wait{Reason: v1alpha1.ReasonWaveHeld} })},
		"the push waits, and not the Job": {m: with(func(m *Member) { m.Held, m.Status = false, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j"}) }), want: 10 * time.Minute},
		"changes to it are suspended": {m: with(func(m *Member) {
			m.Held, m.Push = false, Push{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonSuspended}
		})},
		"the push failed and is repeated": {m: with(func(m *Member) {
			m.Held, m.Push = false, Push{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError}
		}), want: 10 * time.Minute},
		"its operator waits to be reinstalled": {m: with(func(m *Member) {
			m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Subscription", Name: "db", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget})
			m.Reinstall = Push{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonReinstallWaits}
		})},
		"the version to be removed breaks its workload": {m: with(func(m *Member) {
			m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "CrashLoopBackOff"})
			m.Reinstall = Push{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonReinstallWaits}
		})},
		"the manager keeps its operator": {m: with(func(m *Member) {
			m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "CrashLoopBackOff"})
			m.Reinstall = Push{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonReinstallRefused}
		}), want: 10 * time.Minute},
		"a person has to change something": {m: with(func(m *Member) {
			m.Held, m.Push = false, Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			line := Line(&test.m, nil, now)
			if got := deadlineOf(&test.m, &line, test.given); got != test.want {
				t.Errorf("the deadline of a member that is %s (%s) is %s, want %s", line.State, line.Reason, got, test.want)
			}
		})
	}
}

// NextDeadline tells the manager when to look again. Before that time the wrapper is Reconciling, and from then on Stalled.
func TestAPassedDeadlineMakesAWrapperStalled(t *testing.T) {
	in := build(unwellMember("StatefulSet", v1alpha1.Progressing), wellMember("west"))
	first := Build(in, now)
	in.Before = &first
	next := NextDeadline(in, &first, now)
	if want := now.Add(10 * time.Minute); !next.Equal(want) {
		t.Fatalf("the next deadline is at %s, want %s", next, want)
	}
	before := Build(in, next.Add(-time.Second))
	awaited := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReconciling)
	if awaited == nil || meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Fatalf("before the deadline the wrapper has to be Reconciling: %v", before.Conditions)
	}
	wantWords(t, awaited.Message, "east is Progressing: StatefulSet db: 1 of 3 are ready", "since 2026-01-02T03:04:05Z", "deadline is 2026-01-02T03:14:05Z")

	in.Before = &before
	after := Build(in, next)
	stalled := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReconciling) != nil {
		t.Fatalf("at the deadline the wrapper has to be Stalled: %v", after.Conditions)
	}
	if stalled.Reason != v1alpha1.ReasonProgressDeadlineExceeded || !stalled.LastTransitionTime.Time.Equal(next) {
		t.Errorf("the reason is %s since %s", stalled.Reason, stalled.LastTransitionTime)
	}
	wantWords(t, stalled.Message, "east has been Progressing since 2026-01-02T03:04:05Z, longer than its deadline of 10m: StatefulSet db: 1 of 3 are ready")
	if ready := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady); ready.Reason != "Because" {
		t.Errorf("Ready keeps the reason of the member, and has %s", ready.Reason)
	}
	if again := NextDeadline(in, &after, next); !again.IsZero() {
		t.Errorf("no deadline is left, and the next one is at %s", again)
	}

	in.Before, in.Members[0] = &after, wellMember("east")
	if well := Build(in, next.Add(time.Hour)); meta.FindStatusCondition(well.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Error("a wrapper that is healthy after its deadline must not be Stalled")
	}
}

// The member that has been late for the longest time is named, and the others are counted.
func TestStalledNamesTheMemberThatIsLateForTheLongestTime(t *testing.T) {
	late := func(name string, since time.Time) (Member, v1alpha1.ClusterStatus) {
		m := unwellMember("Deployment", v1alpha1.Degraded)
		m.Name = name
		return m, v1alpha1.ClusterStatus{Name: name, Revision: "r2", State: v1alpha1.StateDegraded, LastTransitionTime: metav1.NewTime(since)}
	}
	a, lineA := late("a", now.Add(-20*time.Minute))
	b, lineB := late("b", now.Add(-40*time.Minute))
	c, lineC := late("c", now.Add(-time.Minute))
	in := build(a, b, c)
	in.Before = &v1alpha1.WrapperStatus{Clusters: []v1alpha1.ClusterStatus{lineA, lineB, lineC}}
	status := Build(in, now)
	stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil {
		t.Fatalf("the wrapper is not Stalled: %v", status.Conditions)
	}
	wantWords(t, stalled.Message, "b has been Degraded since 2026-01-02T02:24:05Z", "the deadlines of 1 more have passed, too")
	if want, got := now.Add(9*time.Minute), NextDeadline(in, &status, now); !got.Equal(want) {
		t.Errorf("the next deadline is that of c, at %s, and not at %s", want, got)
	}
}

// If one member needs a person and the deadline of another has passed, Stalled has the reason of the first. A wrapper that is being
// deleted has no deadline.
func TestADeadlineHidesNothingMoreUrgent(t *testing.T) {
	refused := with(func(m *Member) {
		m.Name, m.Held, m.Push = "west", false, Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Message: "no"}
	})
	in := build(unwellMember("StatefulSet", v1alpha1.Progressing), refused)
	first := Build(in, now)
	in.Before = &first
	status := Build(in, now.Add(time.Hour))
	if stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); stalled == nil || stalled.Reason != v1alpha1.ReasonInvalid {
		t.Errorf("Stalled has to have the reason of the member that cannot go on: %v", stalled)
	}
	in.Deleting = true
	deleted := Build(in, now.Add(time.Hour))
	if meta.FindStatusCondition(deleted.Conditions, v1alpha1.ConditionReconciling) != nil && !NextDeadline(in, &deleted, now).IsZero() {
		t.Error("a wrapper that is being deleted must not have a deadline")
	}
}

func wantWords(t *testing.T, message string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(message, w) {
			t.Errorf("%q is missing in %q", w, message)
		}
	}
}
