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

// wellMember returns a member whose line is Healthy at the update revision.
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
		"the member has the desired state": {m: with(func(*Member) {}), state: v1alpha1.StateHealthy},
		"the manager has not read the member": {m: with(func(m *Member) { m.Reachability = Reachability{} }), state: v1alpha1.StateUnknown,
			reason: v1alpha1.ReasonNotHeardFrom, words: "the manager has not read this member yet"},
		"the member does not answer": {m: with(func(m *Member) {
			m.Reachability = Reachability{Known: true, Reason: v1alpha1.ReasonUnauthorized, Message: "no"}
		}), state: v1alpha1.StateUnreachable, reason: v1alpha1.ReasonUnauthorized, words: "no"},
		"the wrapper is leaving the member": {m: with(func(m *Member) { m.Leaving = true }), state: v1alpha1.StateRemoving,
			reason: v1alpha1.ReasonLeaving},
		"the removal from the member fails": {m: with(func(m *Member) {
			m.Leaving, m.Push = true, Push{Reason: v1alpha1.ReasonNotEmpty,
				Message: "theirs"}
		}), state: v1alpha1.StateRemoving, reason: v1alpha1.ReasonNotEmpty, words: "theirs"},
		"rendering fails": {m: with(func(m *Member) { m.Held, m.Refusal = false, Refusal{v1alpha1.ReasonOverrideInvalid, "overrides[0]"} }), state: v1alpha1.StateStalled,
			reason: v1alpha1.ReasonOverrideInvalid, words: "overrides[0]"},
		"the push fails": {m: with(func(m *Member) {
			m.Held, m.Push = false, Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid,
				Message: "no"}
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInvalid},
		"a repair fails": {m: with(func(m *Member) {
			m.Push = Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonRefused, Message: "Secret a", Unrepaired: true}
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonRefused, words: "Secret a"},
		"the Delivery shows the pushed state before the push has returned": {m: with(func(m *Member) {
			m.Push = Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonRefused, Message: "no"}
		}), state: v1alpha1.StateHealthy},
		"the push is running": {m: with(func(m *Member) { m.Held = false }), state: v1alpha1.StatePushing, reason: v1alpha1.ReasonPushing},
		"the collector has not reported on the push yet": {m: with(func(m *Member) { m.Judged = true }), state: v1alpha1.StateProgressing,
			reason: v1alpha1.ReasonApplying},
		"the collector has only reported on the previous push": {
			m:     with(func(m *Member) { m.Judged, m.Status = true, &v1alpha1.DeliveryStatus{ObservedRendering: "d1"} }),
			state: v1alpha1.StateProgressing, reason: v1alpha1.ReasonApplying,
		},
		"an object on which OLM v1 has given up": {
			m: with(func(m *Member) {
				m.Status = judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "BackoffLimitExceeded"},
					v1alpha1.ObjectStatus{Group: "olm.operatorframework.io", Kind: "ClusterExtension", Name: "db", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonBlocked, Message: "no"})
			}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonBlocked, words: "ClusterExtension db: no",
		},
		"an object that OLM v1 may yet give up": {m: with(func(m *Member) {
			m.Status = judged(v1alpha1.ObjectStatus{Group: "olm.operatorframework.io", Kind: "ClusterExtension", Name: "db", Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonBlocked})
		}), state: v1alpha1.StateProgressing, reason: v1alpha1.ReasonBlocked},
		"an object of another kind with the same word": {m: with(func(m *Member) {
			m.Status = judged(v1alpha1.ObjectStatus{Group: "example.com", Kind: "ClusterExtension", Name: "db", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonBlocked})
		}), state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonBlocked},
		"an InstallPlan on the way to a target that has failed": {
			m: with(func(m *Member) {
				m.Status = judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "BackoffLimitExceeded"},
					v1alpha1.ObjectStatus{Group: "operators.coreos.com", Kind: "Subscription", Name: "db", Health: v1alpha1.Degraded, Reason: "InstallPlanFailed", Message: "no such kind"})
				m.Status.Subscriptions = []v1alpha1.ObservedSubscription{{Name: "db", TargetCSV: "db.v1.1.0"}}
			}), state: v1alpha1.StateStalled, reason: "InstallPlanFailed", words: "Subscription db: no such kind",
		},
		"an InstallPlan on the way to a target that OLM does not finish": {
			m: with(func(m *Member) {
				m.Status = judged(v1alpha1.ObjectStatus{Group: "operators.coreos.com", Kind: "Subscription", Name: "db", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonInstallPlanTimedOut})
				m.Status.Subscriptions = []v1alpha1.ObservedSubscription{{Name: "db", TargetCSV: "db.v1.1.0"}}
			}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInstallPlanTimedOut,
		},
		"an InstallPlan of a Subscription without a target that has failed": {
			m: with(func(m *Member) {
				m.Status = judged(v1alpha1.ObjectStatus{Group: "operators.coreos.com", Kind: "Subscription", Name: "db", Health: v1alpha1.Degraded, Reason: "InstallPlanFailed"})
				m.Status.Subscriptions = []v1alpha1.ObservedSubscription{{Name: "db"}}
			}), state: v1alpha1.StateDegraded, reason: "InstallPlanFailed",
		},
		"a healthy object that is deprecated": {m: with(func(m *Member) {
			m.Status = judged(v1alpha1.ObjectStatus{Kind: "ClusterExtension", Name: "db", Health: v1alpha1.Healthy, Reason: v1alpha1.ReasonDeprecated, Message: "use db2"})
		}), state: v1alpha1.StateHealthy, reason: v1alpha1.ReasonDeprecated, words: "ClusterExtension db: use db2"},
		"the line has the message of the worst object": {
			m: with(func(m *Member) {
				m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Deployment", Name: "w", Health: v1alpha1.Progressing,
					Reason: "InProgress"},
					v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "BackoffLimitExceeded", Message: "no"})
			}), state: v1alpha1.StateDegraded, reason: "BackoffLimitExceeded", words: "Job j: no",
		},
		"an object of unknown health still gives the line a state": {
			m: with(func(m *Member) {
				m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: "Fabulous"})
			}), state: v1alpha1.StateHealthy,
		},
		"a drift under drift: Repair": {m: with(func(m *Member) { m.Status = judged(drift) }), state: v1alpha1.StateProgressing,
			reason: v1alpha1.ReasonDrifted, words: "by kubectl (.data.x and 1 more)"},
		"a drift under drift: Report": {m: with(func(m *Member) { m.Status, m.RepairsDrift = judged(drift), false }),
			state: v1alpha1.StateHealthy, reason: v1alpha1.ReasonDrifted, words: "ConfigMap a was changed"},
		"a push without a record, under drift: Report": {
			m: with(func(m *Member) {
				m.RepairsDrift = false
				m.Status = judged(drift, v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "b", Health: v1alpha1.Progressing,
					Reason: v1alpha1.ReasonUnfinished, Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftChanged}})
			}), state: v1alpha1.StateProgressing, reason: v1alpha1.ReasonUnfinished, words: "the manager changed ConfigMap b and did not record the change",
		},
		"a drift that another client causes again and again": {m: with(func(m *Member) { m.Status, m.Contested = judged(drift), "kubectl changes it back" }),
			state: v1alpha1.StateStalled, reason: v1alpha1.ReasonDriftContested, words: "kubectl changes it back"},
		"a contested drift whose repair holds at the moment": {m: with(func(m *Member) { m.Contested = "kubectl" }),
			state: v1alpha1.StateStalled, reason: v1alpha1.ReasonDriftContested},
		"a contested drift whose repair is running": {m: with(func(m *Member) { m.Held, m.Contested = false, "kubectl" }),
			state: v1alpha1.StateStalled, reason: v1alpha1.ReasonDriftContested},
		"a contested drift, and an object that is not delivered": {m: with(func(m *Member) {
			m.Held, m.Contested, m.Push = false, "kubectl", Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Message: "no"}
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInvalid},
		"an InstallPlan that the manager may not approve": {m: with(func(m *Member) {
			m.Status, m.Unapproved = judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Progressing}, pendingPlan), unapprovable
		}), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInstallPlanBundlesOthers, words: "Subscription cache"},
		"an InstallPlan that the manager may not approve, and an object that is Degraded": {m: with(func(m *Member) {
			m.Status, m.Unapproved = judged(pendingPlan, v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "Failed"}), unapprovable
		}), state: v1alpha1.StateDegraded, reason: "Failed"},
		"an InstallPlan that is not pending any more": {m: with(func(m *Member) { m.Unapproved = unapprovable }), state: v1alpha1.StateHealthy},
		"a contested drift on a member that does not answer": {m: with(func(m *Member) {
			m.Contested, m.Reachability = "kubectl", Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable}
		}), state: v1alpha1.StateUnreachable, reason: v1alpha1.ReasonUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			got := Line(&test.m, nil, now)
			if diff := cmp.Diff([]string{string(test.state), test.reason}, []string{string(got.State), got.Reason}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(got.Message, test.words) {
				t.Errorf("the message does not contain %q: %s", test.words, got.Message)
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
		t.Errorf("the same problem gives another line (-before +after):\n%s", diff)
	}
	well := wellMember("east")
	if got := Line(&well, &after, now.Add(2*time.Hour)); !got.LastTransitionTime.Time.Equal(now.Add(2 * time.Hour)) {
		t.Errorf("a line with a new state must have a new transition time: %s", got.LastTransitionTime)
	}
}

// The member is Healthy with the earlier revision and with the later one. The state does not change, but the line must
// get a new time.
func TestALineOfAnotherRevisionHasANewTime(t *testing.T) {
	m := wellMember("east")
	before := Line(&m, nil, now)
	later := now.Add(time.Hour)
	if got := Line(&m, &before, later); !got.LastTransitionTime.Time.Equal(now) {
		t.Errorf("a line of the same revision must keep its transition time: %s", got.LastTransitionTime)
	}
	m.Revision, m.HeldRevision = "r9", "r9"
	if got := Line(&m, &before, later); got.State != before.State || got.Revision != "r9" || !got.LastTransitionTime.Time.Equal(later) {
		t.Errorf("a line of another revision must have a new transition time: %+v", got)
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
		want []string // "type=status reason"; Placed is left out if it is True
	}{
		"every member is Healthy": {build(wellMember("east"), wellMember("west")), []string{"Pushed=True AllUpdated", "Healthy=True AllHealthy",
			"Ready=True AllHealthy"}},
		"a push is running": {build(pushing, wellMember("west")), []string{"Pushed=False Pushing", "Healthy=False Pushing",
			"Ready=False Pushing", "Reconciling=True Pushing"}},
		"a push is stalled": {build(stalledM, wellMember("west")), []string{"Pushed=False Invalid", "Healthy=False Invalid",
			"Ready=False Invalid", "Stalled=True Invalid"}},
		"an object is Degraded with a word of its controller that is no valid reason": {
			build(sick), []string{"Pushed=True AllUpdated", "Healthy=False isbroken,sadly", "Ready=False isbroken,sadly",
				"Reconciling=True isbroken,sadly"},
		},
		"the wrapper is leaving a member": {build(leave, wellMember("west")), []string{"Pushed=False Leaving", "Healthy=True AllHealthy",
			"Ready=False Leaving", "Reconciling=True Leaving"}},
		"the spec is invalid": {invalid, []string{"Pushed=True AllUpdated", "Healthy=True AllHealthy", "Ready=False SpecInvalid",
			"Stalled=True SpecInvalid"}},
		"the wrapper is being deleted": {deleting, []string{"Pushed=False Leaving", "Healthy=Unknown Deleting", "Ready=False Deleting",
			"Reconciling=True Deleting"}},
		"no member is selected": {unplaced, []string{"Placed=False NoClusterMatches", "Pushed=True AllUpdated", "Healthy=True AllHealthy",
			"Ready=False NoClusterMatches"}},
		"an override names an unregistered cluster, and every member is Healthy": {unknown, []string{"Pushed=True AllUpdated",
			"Healthy=True AllHealthy", "Ready=True ClusterNotFound"}},
		"an override names an unregistered cluster, and a member is Degraded": {unknownAndStalled, []string{"Pushed=False Invalid", "Healthy=False Invalid", "Ready=False Invalid",
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
					t.Errorf("condition %s has observedGeneration %d", c.Type, c.ObservedGeneration)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Building again from the result, at a later time, must give the same status.
			test.in.Before = &status
			if diff := cmp.Diff(status, Build(test.in, now.Add(time.Minute))); diff != "" {
				t.Errorf("the same input must give the same status (-before +after):\n%s", diff)
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
			t.Errorf("condition %s must be removed", kind)
		}
	}
	if diff := cmp.Diff([]string{"", "r2"}, []string{first.CurrentRevision, status.CurrentRevision}); diff != "" {
		t.Errorf("status.currentRevision (-want +got):\n%s", diff)
	}
}

func TestTheAPIAcceptsTheReasonsOfConditions(t *testing.T) {
	takes := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`) // the pattern of metav1.Condition's reason
	for _, word := range []string{"", "Fine", "not ready", "1st", "a:", "…", "x-y", ":,", "A", "_a", "ümlaut", "a,b:"} {
		if got := conditionReason(word, "Fallback"); !takes.MatchString(got) {
			t.Errorf("the word %q becomes %q, which is no valid reason", word, got)
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
		t.Fatalf("the status has %d lines and omits %d, want 500 lines", len(status.Clusters), status.ClustersOmitted)
	}
	if status.Clusters[0].Name != "m-590" || status.Clusters[10].Name != "m-000" || len(status.Clusters[0].Message) > MaxMessage {
		t.Errorf("the first line is of %s, the eleventh of %s, and the first message has %d bytes", status.Clusters[0].Name, status.Clusters[10].Name, len(status.Clusters[0].Message))
	}
	want := []int32{600, 590, 590, 10}
	if diff := cmp.Diff(want, []int32{*status.Counts.Placed, *status.Counts.Updated, *status.Counts.Healthy,
		*status.Counts.Stalled}); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A member whose announcement no status shows is not reinstalled, and would hold the turn of others.
func TestAnAnnouncedReinstallAlwaysHasALine(t *testing.T) {
	var members []Member
	for i := range 600 {
		m := wellMember(fmt.Sprintf("m-%03d", i))
		m.Held = false
		m.Push = Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Message: "x"}
		members = append(members, m)
	}
	members[599].Reinstall = Push{State: v1alpha1.StateProgressing, Reason: v1alpha1.ReasonReinstallAnnounced, Message: "in 30s"}
	if status := Build(build(members...), now); status.Clusters[0].Name != "m-599" || status.Clusters[0].Reason != v1alpha1.ReasonReinstallAnnounced {
		t.Errorf("the first line is that of %s: %s", status.Clusters[0].Name, status.Clusters[0].Reason)
	}
}

// More members have problems than the status has lines. The status has to count the members without a line by state.
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
		t.Errorf("%d members have no line; by state (-want +got):\n%s", status.ClustersOmitted, diff)
	}
	// `hostctl recover` reads the lines with a Delivery. So these lines come first, whatever state the other members
	// have.
	for i := range 60 {
		if status.Clusters[i].Delivery == nil {
			t.Fatalf("line %d is of member %s in state %s, and must be of a held member", i, status.Clusters[i].Name, status.Clusters[i].State)
		}
	}
	if got := Build(build(members[:3]...), now); got.ClustersOmitted != 0 || got.ClustersOmittedByState != nil {
		t.Errorf("with a line for every member the counts must be empty: %+v", got.ClustersOmittedByState)
	}
}

// The announcement of a reinstall counts only when a status shows it, so no other trouble of the member may take its place.
func TestNothingHidesAReinstall(t *testing.T) {
	broken := func() Member {
		return Member{Name: "east", Held: false, RepairsDrift: true, Contested: "another client", Reachability: Reachability{Known: true, Usable: true}, Listed: true,
			Push: Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonRefused}, Refusal: Refusal{Reason: v1alpha1.ReasonOverrideInvalid},
			Status: &v1alpha1.DeliveryStatus{Objects: []v1alpha1.ObjectStatus{{Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "Crash"}}}}
	}
	for _, reason := range []string{v1alpha1.ReasonReinstallAnnounced, v1alpha1.ReasonReinstalling} {
		m := broken()
		m.Reinstall = Push{State: v1alpha1.StateProgressing, Reason: reason, Message: "in 30s"}
		if line := Line(&m, nil, time.Unix(0, 0)); line.Reason != reason || line.State != v1alpha1.StateProgressing {
			t.Errorf("the line says %s %s, not %s", line.State, line.Reason, reason)
		}
	}
	for _, reason := range []string{v1alpha1.ReasonReinstallRefused, v1alpha1.ReasonReinstallWaits} {
		m := broken()
		m.Held, m.Push, m.Refusal, m.Contested = true, Push{}, Refusal{}, ""
		m.Reinstall = Push{State: v1alpha1.StateDegraded, Reason: reason}
		ahead := v1alpha1.ObjectStatus{Kind: "Subscription", Name: "db", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget}
		crash := m.Status.Objects[0]
		other := v1alpha1.ObjectStatus{Kind: "Subscription", Name: "mq", Health: v1alpha1.Degraded, Reason: "Crash"}
		for _, objects := range [][]v1alpha1.ObjectStatus{{crash}, {crash, ahead}, {ahead, crash}, {ahead, other}} {
			m.Status.Objects = objects
			if line := Line(&m, nil, time.Unix(0, 0)); line.Reason != "Crash" {
				t.Errorf("%s hides that another object is Degraded: %s", reason, line.Reason)
			}
		}
		m.Status.Objects = []v1alpha1.ObjectStatus{ahead}
		if line := Line(&m, nil, time.Unix(0, 0)); line.Reason != reason {
			t.Errorf("the line says %s, which does not tell why the operator stays", line.Reason)
		}
	}
}
