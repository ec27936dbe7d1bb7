// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// wellMember returns a healthy member that holds the desired state.
func wellMember(name string) Member {
	return Member{Name: name, Revision: "r2", Held: true, HeldRevision: "r2", Rendering: "d2", RepairsDrift: true,
		Reachability: Reachability{Known: true, Usable: true}}
}

func with(change func(*Member)) Member {
	m := wellMember("east")
	change(&m)
	return m
}

func judged(objects ...v1alpha1.ObjectStatus) *v1alpha1.DeliveryStatus {
	return &v1alpha1.DeliveryStatus{ObservedRendering: "d2", Objects: objects}
}

func TestTheLineOfAMember(t *testing.T) {
	drift := v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "a", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged, Manager: "kubectl",
		Fields: []string{".data.x", ".data.y"}}}
	pendingPlan := v1alpha1.ObjectStatus{Kind: "Subscription", Name: "db", Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstallPlanPending}
	unapprovable := Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInstallPlanBundlesOthers, Message: "it also changes Subscription cache"}
	for name, test := range map[string]struct {
		m      Member
		state  v1alpha1.ClusterState
		reason string
		words  string
	}{
		"it has the desired state": {m: with(func(*Member) {}), state: v1alpha1.StateHealthy},
		"the manager has not read it": {m: with(func(m *Member) { m.Reachability = Reachability{} }), state: v1alpha1.StateUnknown,
			reason: v1alpha1.ReasonNotHeardFrom, words: "the manager has not read this member yet"},
		"it cannot be asked": {m: with(func(m *Member) {
			m.Reachability = Reachability{Known: true, Reason: v1alpha1.ReasonUnauthorized, Message: "no"}
		}), state: v1alpha1.StateUnreachable, reason: v1alpha1.ReasonUnauthorized, words: "no"},
		"it is being left": {m: with(func(m *Member) { m.Leaving = true }), state: v1alpha1.StateRemoving,
			reason: v1alpha1.ReasonLeaving},
		"leaving it is held up": {m: with(func(m *Member) {
			m.Leaving, m.Push = true, Push{Reason: v1alpha1.ReasonNotEmpty,
				Message: "theirs"}
		}), state: v1alpha1.StateRemoving, reason: v1alpha1.ReasonNotEmpty, words: "theirs"},
		"nothing can be rendered": {m: with(func(m *Member) { m.Held, m.Refusal = false, Refusal{v1alpha1.ReasonOverrideInvalid, "overrides[0]"} }), state: v1alpha1.StateStalled,
			reason: v1alpha1.ReasonOverrideInvalid, words: "overrides[0]"},
		"the push is held up": {m: with(func(m *Member) {
			m.Held, m.Push = false, Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid,
				Message: "no"}
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInvalid},
		"a repair is held up": {m: with(func(m *Member) {
			m.Push = Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonRefused, Message: "Secret a", Unrepaired: true}
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonRefused, words: "Secret a"},
		"the news that a push came through is here before its end": {m: with(func(m *Member) {
			m.Push = Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonRefused, Message: "no"}
		}), state: v1alpha1.StateHealthy},
		"the push is under way": {m: with(func(m *Member) { m.Held = false }), state: v1alpha1.StatePushing, reason: v1alpha1.ReasonPushing},
		"it was not looked at yet": {m: with(func(m *Member) { m.Judged = true }), state: v1alpha1.StateProgressing,
			reason: v1alpha1.ReasonApplying},
		"only the push before was looked at": {
			m:     with(func(m *Member) { m.Judged, m.Status = true, &v1alpha1.DeliveryStatus{ObservedRendering: "d1"} }),
			state: v1alpha1.StateProgressing, reason: v1alpha1.ReasonApplying,
		},
		"the worst object speaks": {
			m: with(func(m *Member) {
				m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Deployment", Name: "w", Health: v1alpha1.Progressing,
					Reason: "InProgress"},
					v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "BackoffLimitExceeded", Message: "no"})
			}), state: v1alpha1.StateDegraded, reason: "BackoffLimitExceeded", words: "Job j: no",
		},
		"an object of unknown health gives no line without a state": {
			m: with(func(m *Member) {
				m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: "Fabulous"})
			}), state: v1alpha1.StateHealthy,
		},
		"a drift that is repaired": {m: with(func(m *Member) { m.Status = judged(drift) }), state: v1alpha1.StateProgressing,
			reason: v1alpha1.ReasonDrifted, words: "by kubectl (.data.x and 1 more)"},
		"a drift under drift: Report": {m: with(func(m *Member) { m.Status, m.RepairsDrift = judged(drift), false }),
			state: v1alpha1.StateHealthy, reason: v1alpha1.ReasonDrifted, words: "ConfigMap a was changed"},
		"a push that was not recorded, under drift: Report": {
			m: with(func(m *Member) {
				m.RepairsDrift = false
				m.Status = judged(drift, v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "b", Health: v1alpha1.Progressing,
					Reason: v1alpha1.ReasonUnfinished, Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged}})
			}), state: v1alpha1.StateProgressing, reason: v1alpha1.ReasonUnfinished, words: "ConfigMap b was changed by a push",
		},
		"a drift that is fought over": {m: with(func(m *Member) { m.Status, m.Contested = judged(drift), "kubectl changes it back" }),
			state: v1alpha1.StateStalled, reason: v1alpha1.ReasonDriftContested, words: "kubectl changes it back"},
		"a repair in a fight holds for the moment": {m: with(func(m *Member) { m.Contested = "kubectl" }),
			state: v1alpha1.StateStalled, reason: v1alpha1.ReasonDriftContested},
		"a repair in a fight is being made": {m: with(func(m *Member) { m.Held, m.Contested = false, "kubectl" }),
			state: v1alpha1.StateStalled, reason: v1alpha1.ReasonDriftContested},
		"a fight, and something is not delivered at all": {m: with(func(m *Member) {
			m.Held, m.Contested, m.Push = false, "kubectl", Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Message: "no"}
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInvalid},
		"an InstallPlan that the manager may not approve": {m: with(func(m *Member) {
			m.Status, m.Approval = judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Progressing}, pendingPlan), unapprovable
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: "Subscription cache"},
		"an InstallPlan that the manager may not approve, and an object that is Degraded": {m: with(func(m *Member) {
			m.Status, m.Approval = judged(pendingPlan, v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "Failed"}), unapprovable
		}), state: v1alpha1.StateDegraded, reason: "Failed"},
		"an InstallPlan that is not pending any more": {m: with(func(m *Member) { m.Approval = unapprovable }), state: v1alpha1.StateHealthy},
		"a fight with a member that does not answer": {m: with(func(m *Member) {
			m.Contested, m.Reachability = "kubectl", Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable}
		}), state: v1alpha1.StateUnreachable, reason: v1alpha1.ReasonUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			got := Line(&test.m, nil, now)
			if diff := cmp.Diff([]string{string(test.state), test.reason}, []string{string(got.State), got.Reason}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(got.Message, test.words) {
				t.Errorf("it does not say %q: %s", test.words, got.Message)
			}
		})
	}
}

func TestALineKeepsItsTimeAndVolatileWords(t *testing.T) {
	m := with(func(m *Member) {
		m.Reachability = Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable, Message: "port 2"}
	})
	before := Line(&m, nil, now)
	m.Reachability.Message = "port 3"
	after := Line(&m, &before, now.Add(time.Hour))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the same trouble reads another way (-before +after):\n%s", diff)
	}
	well := wellMember("east")
	if got := Line(&well, &after, now.Add(2*time.Hour)); !got.LastTransitionTime.Time.Equal(now.Add(2 * time.Hour)) {
		t.Errorf("a new state has an old time: %s", got.LastTransitionTime)
	}
}

// A member may be Healthy with the next revision before a reconcile sees it otherwise.
func TestALineOfAnotherRevisionHasANewTime(t *testing.T) {
	m := wellMember("east")
	before := Line(&m, nil, now)
	later := now.Add(time.Hour)
	if got := Line(&m, &before, later); !got.LastTransitionTime.Time.Equal(now) {
		t.Errorf("the same revision has a new time: %s", got.LastTransitionTime)
	}
	m.Revision, m.HeldRevision = "r9", "r9"
	if got := Line(&m, &before, later); got.State != before.State || got.Revision != "r9" || !got.LastTransitionTime.Time.Equal(later) {
		t.Errorf("another revision has an old time: %+v", got)
	}
}

func build(members ...Member) Input {
	return Input{Generation: 4, UpdateRevision: "r2", PlacedOK: true, PlacedReason: v1alpha1.ReasonPlaced, Members: members,
		Before: &v1alpha1.WrapperStatus{}}
}

func TestTheConditionsOfAWrapper(t *testing.T) {
	pushing := with(func(m *Member) { m.Held = false })
	stalledM := with(func(m *Member) {
		m.Held, m.Push = false, Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Message: "spec.x: no"}
	})
	sick := with(func(m *Member) {
		m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "is broken, sadly!"})
	})
	leave := with(func(m *Member) { m.Leaving = true })
	invalid, deleting, unplaced := build(wellMember("west")), build(leave), build()
	invalid.Invalid, deleting.Deleting = "objects[0]: no", true
	unknown, unknownAndStalled := build(wellMember("east")), build(stalledM)
	unknown.Notice, unknownAndStalled.Notice = "spec.overrides[0].clusters.names: no MemberCluster is named ghost", "the same"
	unplaced.PlacedOK, unplaced.PlacedReason, unplaced.PlacedMessage = false, v1alpha1.ReasonNoClusterMatches, "none"
	for name, test := range map[string]struct {
		in   Input
		want []string // type=status reason, but for Placed where it is well
	}{
		"all is well": {build(wellMember("east"), wellMember("west")), []string{"Pushed=True AllUpdated", "Healthy=True AllHealthy",
			"Ready=True AllHealthy"}},
		"a push is under way": {build(pushing, wellMember("west")), []string{"Pushed=False Pushing", "Healthy=False Pushing",
			"Ready=False Pushing", "Reconciling=True Pushing"}},
		"a push is stalled": {build(stalledM, wellMember("west")), []string{"Pushed=False Invalid", "Healthy=False Invalid",
			"Ready=False Invalid", "Stalled=True Invalid"}},
		"an object is sick, and its controller's word is no reason that the API takes": {
			build(sick), []string{"Pushed=True AllUpdated", "Healthy=False isbroken,sadly", "Ready=False isbroken,sadly",
				"Reconciling=True isbroken,sadly"},
		},
		"a member is being left": {build(leave, wellMember("west")), []string{"Pushed=False Leaving", "Healthy=True AllHealthy",
			"Ready=False Leaving", "Reconciling=True Leaving"}},
		"the spec is invalid": {invalid, []string{"Pushed=True AllUpdated", "Healthy=True AllHealthy", "Ready=False SpecInvalid",
			"Stalled=True SpecInvalid"}},
		"it is being deleted": {deleting, []string{"Pushed=False Leaving", "Healthy=Unknown Deleting", "Ready=False Deleting",
			"Reconciling=True Deleting"}},
		"nothing is selected": {unplaced, []string{"Placed=False NoClusterMatches", "Pushed=True AllUpdated", "Healthy=True AllHealthy",
			"Ready=False NoClusterMatches"}},
		"an override names a cluster that is not registered, and all members are well": {unknown, []string{"Pushed=True AllUpdated",
			"Healthy=True AllHealthy", "Ready=True ClusterNotFound"}},
		"the same, and a member is not well": {unknownAndStalled, []string{"Pushed=False Invalid", "Healthy=False Invalid", "Ready=False Invalid",
			"Stalled=True Invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			status := Build(test.in, now)
			var got []string
			for _, c := range status.Conditions {
				if c.Type != v1alpha1.ConditionPlaced || c.Status == metav1.ConditionFalse {
					got = append(got, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
				}
				if c.ObservedGeneration != 4 {
					t.Errorf("%s speaks of generation %d", c.Type, c.ObservedGeneration)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// The same input at another time gives the same status.
			test.in.Before = &status
			if diff := cmp.Diff(status, Build(test.in, now.Add(time.Hour))); diff != "" {
				t.Errorf("an unchanged world has another status (-before +after):\n%s", diff)
			}
		})
	}
}

func TestReconcilingAndStalledGoWithTheirCause(t *testing.T) {
	first := Build(build(with(func(m *Member) { m.Held = false })), now)
	in := build(wellMember("east"))
	in.Before = &first
	status := Build(in, now.Add(time.Minute))
	for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if meta.FindStatusCondition(status.Conditions, kind) != nil {
			t.Errorf("%s is still there", kind)
		}
	}
	if diff := cmp.Diff([]string{"", "r2"}, []string{first.CurrentRevision, status.CurrentRevision}); diff != "" {
		t.Errorf("the current revision (-want +got):\n%s", diff)
	}
}

func TestTheAPIAcceptsTheReasonsOfConditions(t *testing.T) {
	takes := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`) // metav1.Condition
	for _, word := range []string{"", "Fine", "not ready", "1st", "a:", "…", "x-y", ":,", "A", "_a", "ümlaut", "a,b:"} {
		if got := conditionReason(word, "Fallback"); !takes.MatchString(got) {
			t.Errorf("%q becomes %q", word, got)
		}
	}
}

func TestLinesAreBoundedAndTroubleComesFirst(t *testing.T) {
	var members []Member
	for i := range 600 {
		m := wellMember(fmt.Sprintf("m-%03d", i))
		if i >= 590 {
			m.Held = false
			m.Push = Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Message: strings.Repeat("x", 1000)}
		}
		members = append(members, m)
	}
	status := Build(build(members...), now)
	if len(status.Clusters) != maxLines || status.ClustersOmitted != 100 {
		t.Fatalf("%d lines, %d omitted", len(status.Clusters), status.ClustersOmitted)
	}
	if status.Clusters[0].Name != "m-590" || status.Clusters[10].Name != "m-000" || len(status.Clusters[0].Message) > maxMessage {
		t.Errorf("first %s, eleventh %s, %d bytes", status.Clusters[0].Name, status.Clusters[10].Name, len(status.Clusters[0].Message))
	}
	want := []int32{600, 590, 590, 10}
	if diff := cmp.Diff(want, []int32{*status.Counts.Placed, *status.Counts.Updated, *status.Counts.Healthy,
		*status.Counts.Stalled}); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// More members may be in trouble than there are lines. The members without a line are counted by their state.
func TestOmittedLinesAreCountedByState(t *testing.T) {
	var members []Member
	for i := range 1200 {
		m := wellMember(fmt.Sprintf("m-%04d", i))
		switch {
		case i < 540:
			m.Reachability = Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable}
		case i < 600:
			m.Held, m.Push = false, Push{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember,
				Delivery: &v1alpha1.DeliveryVersion{UID: "d", Generation: 7}}
		case i < 620:
			m.Held = false
		}
		members = append(members, m)
	}
	status := Build(build(members...), now)
	want := []v1alpha1.OmittedClusters{{State: v1alpha1.StateUnreachable, Count: 100}, {State: v1alpha1.StatePushing, Count: 20},
		{State: v1alpha1.StateHealthy, Count: 580}}
	if diff := cmp.Diff(want, status.ClustersOmittedByState); diff != "" || status.ClustersOmitted != 700 {
		t.Errorf("%d omitted (-want +got):\n%s", status.ClustersOmitted, diff)
	}
	// A member for which a person has to decide has a line, whatever other trouble there is: `hostctl recover` reads
	// these lines.
	for i := range 60 {
		if status.Clusters[i].Delivery == nil {
			t.Fatalf("line %d is of %s, %s", i, status.Clusters[i].Name, status.Clusters[i].State)
		}
	}
	if got := Build(build(members[:3]...), now); got.ClustersOmitted != 0 || got.ClustersOmittedByState != nil {
		t.Errorf("no member is left out: %+v", got.ClustersOmittedByState)
	}
}
