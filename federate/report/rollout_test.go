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

const approveCommand = "hostctl approve web -n shop"

func TestTheLineOfAMemberThatWaitsInARollout(t *testing.T) {
	waits := func(change func(*Member)) Member {
		return with(func(m *Member) {
			m.Wait = Wait{Reason: v1alpha1.ReasonWaveHeld, Message: "its wave has not begun"}
			change(m)
		})
	}
	for name, test := range map[string]struct {
		m      Member
		state  v1alpha1.ClusterState
		reason string
	}{
		"it is healthy with what it has":   {waits(func(*Member) {}), v1alpha1.StateHealthy, v1alpha1.ReasonWaveHeld},
		"it has nothing yet":               {waits(func(m *Member) { m.Held, m.Wait.Fresh = false, true }), v1alpha1.StateWaiting, v1alpha1.ReasonWaveHeld},
		"its earlier revision is repaired": {waits(func(m *Member) { m.Held = false }), v1alpha1.StatePushing, v1alpha1.ReasonPushing},
		"nothing can be rendered for it": {waits(func(m *Member) {
			m.Wait.Fresh, m.Refusal = true, Refusal{v1alpha1.ReasonOverrideInvalid, "no"}
		}), v1alpha1.StateStalled, v1alpha1.ReasonOverrideInvalid},
		"it cannot be reached": {waits(func(m *Member) {
			m.Wait.Fresh, m.Reachability = true, Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable}
		}), v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable},
		"it is not healthy with what it has": {waits(func(m *Member) {
			m.Judged, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded, Reason: "BackoffLimitExceeded"})
		}), v1alpha1.StateDegraded, "BackoffLimitExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(&test.m, nil, now); got.State != test.state || got.Reason != test.reason {
				t.Errorf("%s %s, want %s %s", got.State, got.Reason, test.state, test.reason)
			}
		})
	}
}

// A member that waits for its wave does not have the update revision. So the wrapper is not Ready, with the rollout's
// reason.
func TestTheConditionsOfAWrapperInARollout(t *testing.T) {
	failure := v1alpha1.RolloutFailure{Revision: "r2", Wave: "canary", Cluster: "east", Reason: v1alpha1.ReasonInvalid, Count: 2}
	said := failure
	said.Message = "ConfigMap web: no"
	for name, test := range map[string]struct {
		status  v1alpha1.RolloutStatus
		healthy bool // all members have the newest revision
		want    string
		beside  string // the condition that is present beside Ready: Reconciling, Stalled or ""
		words   string
	}{
		"a wave needs an approval": {v1alpha1.RolloutStatus{State: v1alpha1.RolloutProgressing, Wave: "last", WaitingFor: v1alpha1.ReasonWaveNeedsApproval}, false,
			"False WaveNeedsApproval", v1alpha1.ConditionReconciling, "`" + approveCommand + " --wave last` lets wave last begin"},
		"a wave soaks": {v1alpha1.RolloutStatus{State: v1alpha1.RolloutProgressing, Wave: "canary", WaitingFor: v1alpha1.ReasonWaveSoaking,
			SoakUntil: metav1.NewTime(now.Add(time.Hour))}, false, "False WaveSoaking", v1alpha1.ConditionReconciling, "until 2026-01-02T04:04:05Z"},
		"it failed and is paused": {v1alpha1.RolloutStatus{State: v1alpha1.RolloutPaused, Wave: "canary", WaitingFor: v1alpha1.ReasonRolloutStopped, Failure: failure}, false,
			"False RolloutStopped", v1alpha1.ConditionStalled, "r2 failed in wave canary on cluster east and 1 more (Invalid): change the spec, or run `" + approveCommand + " --retry` to try r2 again"},
		"it failed with a message of the member": {v1alpha1.RolloutStatus{State: v1alpha1.RolloutPaused, Wave: "canary", WaitingFor: v1alpha1.ReasonRolloutStopped, Failure: said}, false,
			"False RolloutStopped", v1alpha1.ConditionStalled, "run `" + approveCommand + " --retry` to try r2 again; when the rollout failed, the message of cluster east was \"ConfigMap web: no\""},
		"the fleet is back": {v1alpha1.RolloutStatus{State: v1alpha1.RolloutRolledBack, LastGoodRevision: "r1", WaitingFor: v1alpha1.ReasonRolloutStopped, Failure: failure}, false,
			"False RolloutStopped", v1alpha1.ConditionStalled, "the fleet is back at r1"},
		"all waves have passed": {v1alpha1.RolloutStatus{State: v1alpha1.RolloutComplete}, true, "True AllHealthy", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			waiting := with(func(m *Member) {
				m.Name = "west"
				if !test.healthy {
					m.Wait = Wait{Reason: v1alpha1.ReasonWaveHeld, Message: "…"}
				}
			})
			in := build(wellMember("east"), waiting)
			in.Rollout = NewRollout(&test.status, approveCommand)
			status := Build(in, now)
			ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			if got := string(ready.Status) + " " + ready.Reason; got != test.want || !strings.Contains(ready.Message, test.words) {
				t.Errorf("%s, want %s with %q: %s", got, test.want, test.words, ready.Message)
			}
			if test.beside != "" && meta.FindStatusCondition(status.Conditions, test.beside) == nil {
				t.Errorf("no condition %s", test.beside)
			}
			if updated := *status.Counts.Updated; (updated == 2) != test.healthy {
				t.Errorf("%d members count as updated", updated)
			}
		})
	}
}

// After a rollback all members have the last good revision, but OLM does not downgrade an operator. The message must not claim that the
// fleet is back where a member still runs the version that failed.
func TestARolledBackRolloutNamesTheMembersThatKeepALaterVersion(t *testing.T) {
	rolledBack := v1alpha1.RolloutStatus{State: v1alpha1.RolloutRolledBack, LastGoodRevision: "r1", WaitingFor: v1alpha1.ReasonRolloutStopped,
		Failure: v1alpha1.RolloutFailure{Revision: "r2", Wave: "canary", Cluster: "east", Count: 1}}
	ahead := func(name string, more ...v1alpha1.ObjectStatus) Member {
		return with(func(m *Member) {
			m.Name, m.Judged, m.Wait = name, true, Wait{Reason: v1alpha1.ReasonRolloutStopped}
			m.Status = judged(append(more, v1alpha1.ObjectStatus{Group: "operators.coreos.com", Kind: "Subscription", Name: "db", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget})...)
		})
	}
	back := with(func(m *Member) { m.Name, m.Wait = "west", Wait{Reason: v1alpha1.ReasonRolloutStopped} })
	job := v1alpha1.ObjectStatus{Group: "batch", Kind: "Job", Name: "a", Health: v1alpha1.Degraded, Reason: "BackoffLimitExceeded"}
	kept := with(func(m *Member) {
		m.Name, m.Reinstall = "north", Push{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonReinstallRefused}
	})
	const claim, remedy = "the fleet is back at r1", ": change the spec, or run `" + approveCommand + " --retry` to try r2 again"
	for name, test := range map[string]struct {
		state   v1alpha1.RolloutState
		members []Member
		words   string
		claims  bool
	}{
		"every operator is back":               {v1alpha1.RolloutRolledBack, []Member{back}, ", the fleet is back at r1" + remedy, true},
		"one is ahead of its target":           {v1alpha1.RolloutRolledBack, []Member{back, ahead("east")}, ", the rollback to r1 has ended, and cluster east still has a later version of an operator" + remedy, false},
		"three are ahead of their targets":     {v1alpha1.RolloutRolledBack, []Member{ahead("east"), kept, ahead("south"), back}, ", and cluster east and 2 more still have a later version of an operator" + remedy, false},
		"another fault of the member is worse": {v1alpha1.RolloutRolledBack, []Member{ahead("east", job)}, "and cluster east still has a later", false},
		"the rollback goes on":                 {v1alpha1.RolloutRollingBack, []Member{ahead("east")}, ", the fleet goes back to r1", false},
	} {
		t.Run(name, func(t *testing.T) {
			status, in := rolledBack, build(test.members...)
			status.State = test.state
			in.Rollout = NewRollout(&status, approveCommand)
			ready := meta.FindStatusCondition(Build(in, now).Conditions, v1alpha1.ConditionReady)
			if !strings.Contains(ready.Message, test.words) || strings.Contains(ready.Message, claim) != test.claims {
				t.Errorf("%s; want %q", ready.Message, test.words)
			}
		})
	}
	// The event is written before the lines are made, so it claims nothing about the members.
	if said := NewRollout(&rolledBack, approveCommand).Message; !strings.Contains(said, "the rollback to r1 has ended"+remedy) || strings.Contains(said, claim) {
		t.Error(said)
	}
}

// The line of a waiting member has 256 bytes, so it names the way out, and not what another member reported.
func TestTheLineOfAWaitingMemberLeavesOutTheMessageOfTheFailure(t *testing.T) {
	s := &v1alpha1.RolloutStatus{State: v1alpha1.RolloutPaused, WaitingFor: v1alpha1.ReasonRolloutStopped,
		Failure: v1alpha1.RolloutFailure{Revision: "r2", Cluster: "east", Message: "ConfigMap web: no"}}
	for _, reason := range []string{"", v1alpha1.ReasonRolloutStopped} {
		if got := WaitOf(reason, s, approveCommand, false).Message; strings.Contains(got, "ConfigMap") || !strings.Contains(got, "--retry") {
			t.Errorf("reason %q: %s", reason, got)
		}
	}
}

func TestWhyAMemberWaits(t *testing.T) {
	s := &v1alpha1.RolloutStatus{Wave: "canary", WaitingFor: v1alpha1.ReasonWaveSoaking}
	for reason, words := range map[string]string{
		v1alpha1.ReasonWaveHeld:              "the current wave is canary",
		v1alpha1.ReasonMaxUnavailableReached: "spec.rollout.maxUnavailable",
		v1alpha1.ReasonMaxConcurrentReached:  "the maxConcurrent of the wave",
		v1alpha1.ReasonUnreachable:           "cannot reach the member",
		v1alpha1.ReasonSuspended:             "spec.suspend",
		v1alpha1.ReasonRenderingLost:         "repairs no drift",
		v1alpha1.ReasonWaveNeedsApproval:     "--wave canary",
	} {
		if got := WaitOf(reason, s, approveCommand, false); got.Reason != reason || !strings.Contains(got.Message, words) {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}

func TestWhatARolloutWaitsForWhileAllIsSuspended(t *testing.T) {
	s := v1alpha1.RolloutStatus{State: v1alpha1.RolloutProgressing, Wave: "canary", WaitingFor: v1alpha1.ReasonSuspended}
	for begun, words := range map[v1alpha1.YesMark]string{"": "wave canary does not begin", v1alpha1.Yes: "wave canary neither goes on nor fails"} {
		s.Begun = begun
		if got := NewRollout(&s, approveCommand).Message; !strings.Contains(got, words) {
			t.Errorf("begun %q: %s", begun, got)
		}
	}
}
