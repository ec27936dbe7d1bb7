// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const approve = "hostctl approve web -n shop"

func withheldMember(change func(*Member)) Member {
	return with(func(m *Member) {
		m.Withheld, m.Approve = true, approve
		change(m)
	})
}

func TestTheLineOfAMemberThatIsWithheld(t *testing.T) {
	degraded := v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "BackoffLimitExceeded"}
	drift := v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "a", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged}}
	for name, test := range map[string]struct {
		m    Member
		want string
	}{
		"it is well": {withheldMember(func(*Member) {}), "Held RemovalNeedsApproval"},
		"it is not well, which is not hidden": {withheldMember(func(m *Member) { m.Judged, m.Status = true, judged(degraded) }),
			"Degraded BackoffLimitExceeded"},
		"it cannot be asked": {withheldMember(func(m *Member) { m.Reachability = Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable} }),
			"Unreachable Unreachable"},
		"it is still being served": {withheldMember(func(m *Member) { m.Held = false }), "Pushing Pushing"},
		"a drift under drift: Report": {withheldMember(func(m *Member) { m.Status, m.RepairsDrift = judged(drift), false }),
			"Held RemovalNeedsApproval"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Line(&test.m, nil, now)
			if diff := cmp.Diff(test.want, string(got.State)+" "+got.Reason); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.State == v1alpha1.StateHeld && !strings.HasPrefix(got.Message, "`"+approve+" --removal`") {
				t.Errorf("the remedy comes late: %s", got.Message)
			}
		})
	}
}

// The condition Placed reports a withheld member. Pushed and Healthy count the member as placed, and its line reports no
// problem.
func TestAWrapperOfWhichAMemberIsWithheld(t *testing.T) {
	in := build(withheldMember(func(*Member) {}), wellMember("west"))
	in.Approve = approve
	in.PlacedOK, in.PlacedReason, in.PlacedMessage = false, v1alpha1.ReasonRemovalNeedsApproval, "waits"
	status := Build(in, now)
	var got []string
	for _, c := range status.Conditions {
		got = append(got, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	want := []string{"Placed=False RemovalNeedsApproval", "Pushed=True AllUpdated", "Healthy=True AllHealthy", "Ready=False RemovalNeedsApproval"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{2, 2, 1}, []int32{*status.Counts.Placed, *status.Counts.Healthy, *status.Counts.Held}); diff != "" {
		t.Errorf("placed, healthy, held (-want +got):\n%s", diff)
	}
	in.Members = append(in.Members, with(func(m *Member) { m.Name, m.Leaving = "south", true }))
	if c := meta.FindStatusCondition(Build(in, now).Conditions, v1alpha1.ConditionPushed); c.Reason != v1alpha1.ReasonLeaving {
		t.Errorf("Pushed blames who is withheld: %s %s", c.Reason, c.Message)
	}
}

func TestConditionsNameLeavingMembersAndTheCommandThatReleasesThem(t *testing.T) {
	away := func(name string) Member {
		return with(func(m *Member) {
			m.Name, m.Leaving, m.Reachability = name, true, Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable, Message: "no route"}
		})
	}
	going := with(func(m *Member) { m.Leaving = true })
	held := with(func(m *Member) { m.Leaving, m.Push = true, Push{Reason: v1alpha1.ReasonNotEmpty, Message: "theirs"} })
	unheard := with(func(m *Member) { m.Leaving, m.Reachability = true, Reachability{} })
	unread := with(func(m *Member) { m.Leaving, m.Reachability = true, Reachability{Message: "too much"} })
	var many []Member
	for i := range 13 {
		many = append(many, away(fmt.Sprintf("m%02d", i)))
	}
	for name, test := range map[string]struct {
		members  []Member
		words    string
		deleting bool
	}{
		"the deletion continues": {[]Member{going}, "the wrapper is still leaving 1 cluster (east); east is Removing", true},
		"one is away": {[]Member{going, away("north")}, "the wrapper is still leaving 2 clusters (east, north); " +
			"`hostctl approve web -n shop --release north` ends the wait, and leaves the objects there; north is Unreachable: no route", true},
		"one is held up":             {[]Member{held}, "`hostctl approve web -n shop --release east`", true},
		"one member is not read yet": {[]Member{unheard}, "the wrapper is still leaving 1 cluster (east); east is Unknown", true},
		"one cannot be read":         {[]Member{unread}, "`hostctl approve web -n shop --release east` ends the wait", true},
		"many are away": {many, "m08, m09 and 3 more); `hostctl approve web -n shop --release m00,m01,m02,m03,m04,m05,m06,m07,m08,m09` ends the wait",
			true},
		"it is not deleted": {[]Member{wellMember("west"), away("north")}, "1 of 1 clusters hold the update revision; the wrapper is still leaving 1 cluster (north); " +
			"`hostctl approve web -n shop --release north` ends the wait", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := build(test.members...)
			in.Approve, in.Deleting = approve, test.deleting
			ready := meta.FindStatusCondition(Build(in, now).Conditions, v1alpha1.ConditionReady)
			if !strings.Contains(ready.Message, test.words) {
				t.Errorf("want %q in: %s", test.words, ready.Message)
			}
		})
	}
}

// A wrapper that is being deleted has no placed members, so every count is "0 of 0". No condition may conclude from such
// a count that the wrapper is healthy, and kstatus must see that the wrapper is being deleted.
func TestAWrapperThatIsBeingDeletedIsNotCalledHealthy(t *testing.T) {
	away := with(func(m *Member) {
		m.Leaving, m.Reachability = true, Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable, Message: "no route"}
	})
	for name, members := range map[string][]Member{
		"the deletion continues":        {with(func(m *Member) { m.Leaving = true })},
		"a member is away":              {away},
		"every member has been left":    nil,
		"the others still have objects": {away, with(func(m *Member) { m.Name, m.Leaving, m.Status = "west", true, judged() })},
	} {
		t.Run(name, func(t *testing.T) {
			in := build(members...)
			in.Approve, in.Deleting, in.PlacedOK, in.PlacedReason = approve, true, false, v1alpha1.ReasonDeleting
			w := &v1alpha1.Federated{Status: Build(in, now)}
			w.Generation = in.Generation
			for _, c := range w.Status.Conditions {
				if strings.Contains(c.Message, "0 of 0") || strings.Contains(c.Message, "all 0") ||
					c.Status == metav1.ConditionTrue && c.Type != v1alpha1.ConditionReconciling {
					t.Errorf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				}
			}
			if diff := cmp.Diff(status.InProgressStatus, kstatusOf(t, w)); diff != "" {
				t.Errorf("kstatus, by the conditions alone (-want +got):\n%s", diff)
			}
			w.DeletionTimestamp = &metav1.Time{Time: now}
			if diff := cmp.Diff(status.TerminatingStatus, kstatusOf(t, w)); diff != "" {
				t.Errorf("kstatus (-want +got):\n%s", diff)
			}
		})
	}
}

func kstatusOf(t *testing.T, w *v1alpha1.Federated) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}
