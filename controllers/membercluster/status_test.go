// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/redact"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func well() member.ProbeResult {
	return member.ProbeResult{Probed: true, Reachable: true, Valid: true, Ours: true, Reason: v1alpha1.ReasonAnswers, UID: "m", Version: "v1.36.3",
		Grants: []string{"core"}, CollectorVersion: "v0.1.0", Heartbeat: now.Add(-time.Hour), HeartbeatChanged: now.Add(-time.Minute)}
}

func registered(mode v1alpha1.CollectorMode) *v1alpha1.MemberCluster {
	mc := &v1alpha1.MemberCluster{}
	mc.Name, mc.Generation, mc.Spec.Collector = "east", 3, mode
	return mc
}

// said returns the conditions, each as "Type Status Reason".
func said(mc *v1alpha1.MemberCluster) []string {
	var lines []string
	for _, kind := range []string{v1alpha1.ConditionReachable, v1alpha1.ConditionCredentialsValid, v1alpha1.ConditionCollectorReady,
		v1alpha1.ConditionReady} {
		if c := meta.FindStatusCondition(mc.Status.Conditions, kind); c != nil {
			lines = append(lines, kind+" "+string(c.Status)+" "+c.Reason)
		}
	}
	return lines
}

func TestDescribe(t *testing.T) {
	with := func(change func(*member.ProbeResult)) member.ProbeResult { s := well(); change(&s); return s }
	for name, test := range map[string]struct {
		probe   member.ProbeResult
		refusal *member.CredentialsError
		mode    v1alpha1.CollectorMode
		want    []string
		known   bool // whether the status has the facts that the member reports about itself
	}{
		"the member answers and its collector works": {
			probe: well(), mode: v1alpha1.CollectorHost, known: true,
			want: []string{"Reachable True Answers", "CredentialsValid True Answers", "CollectorReady True Collecting", "Ready True Ready"},
		},
		"the member does not answer": {
			probe: member.ProbeResult{Probed: true, Reason: v1alpha1.ReasonUnreachable, Message: "no route"}, mode: v1alpha1.CollectorHost,
			want: []string{"Reachable False Unreachable", "CredentialsValid Unknown Unreachable", "CollectorReady Unknown Unreachable",
				"Ready False Unreachable"},
		},
		"the token is not accepted": {
			probe: member.ProbeResult{Probed: true, Reachable: true, Reason: v1alpha1.ReasonUnauthorized, Message: "no"},
			mode:  v1alpha1.CollectorHost,
			want: []string{"Reachable True Answers", "CredentialsValid False Unauthorized", "CollectorReady Unknown Unauthorized",
				"Ready False Unauthorized"},
		},
		"another host's member": {
			probe: with(func(s *member.ProbeResult) { s.Valid, s.Reason, s.Message = false, v1alpha1.ReasonOtherHost, "of prod" }),
			mode:  v1alpha1.CollectorHost,
			want: []string{"Reachable True Answers", "CredentialsValid False OtherHost",
				"CollectorReady Unknown OtherHost", "Ready False OtherHost"},
		},
		"another cluster at the member's address": {
			probe: with(func(s *member.ProbeResult) {
				s.Valid, s.Reason, s.Message = false, v1alpha1.ReasonIdentityChanged, "another"
			}),
			mode: v1alpha1.CollectorHost,
			want: []string{"Reachable True Answers", "CredentialsValid False IdentityChanged",
				"CollectorReady Unknown IdentityChanged", "Ready False IdentityChanged"},
		},
		"a collector elsewhere without a recent heartbeat": {
			probe: with(func(s *member.ProbeResult) { s.HeartbeatChanged = now.Add(-time.Hour) }), mode: v1alpha1.CollectorExternal, known: true,
			want: []string{"Reachable True Answers", "CredentialsValid True Answers", "CollectorReady False NoHeartbeat", "Ready False NoHeartbeat"},
		},
		"no credentials": {
			refusal: &member.CredentialsError{Reason: v1alpha1.ReasonCredentialsMissing, Message: "no Secret"}, mode: v1alpha1.CollectorHost,
			want: []string{"Reachable Unknown CredentialsMissing", "CredentialsValid False CredentialsMissing",
				"CollectorReady Unknown CredentialsMissing", "Ready False CredentialsMissing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := registered(test.mode)
			statusWriter{probe: test.probe, refusal: test.refusal, now: now}.write(mc)
			if diff := cmp.Diff(test.want, said(mc)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if known := mc.Status.UID != ""; known != test.known {
				t.Errorf("the status has the member's own facts: %v (%+v)", known, mc.Status)
			}
			for _, c := range mc.Status.Conditions {
				if c.ObservedGeneration != 3 || !c.LastTransitionTime.Time.Equal(now) || c.Message == "" {
					t.Errorf("%s: %+v", c.Type, c)
				}
			}
		})
	}
}

func TestReachableHasTheKindOfTheErrorAndSinceWhen(t *testing.T) {
	mc := registered(v1alpha1.CollectorHost)
	lost := member.ProbeResult{Probed: true, Reason: v1alpha1.ReasonUnreachable, Failure: v1alpha1.ReasonConnectionRefused, Message: "nothing listens at https://10.0.0.7:6443"}
	statusWriter{probe: lost, now: now}.write(mc)
	want := []string{"Reachable False ConnectionRefused", "CredentialsValid Unknown ConnectionRefused", "CollectorReady Unknown ConnectionRefused", "Ready False ConnectionRefused"}
	if diff := cmp.Diff(want, said(mc)); diff != "" {
		t.Error(diff)
	}
	for _, kind := range []string{v1alpha1.ConditionReachable, v1alpha1.ConditionReady} {
		if diff := cmp.Diff("since 2026-01-02T03:04:05Z: nothing listens at https://10.0.0.7:6443", meta.FindStatusCondition(mc.Status.Conditions, kind).Message); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	before := mc.DeepCopy()
	statusWriter{probe: lost, now: now.Add(time.Minute)}.write(mc)
	if diff := cmp.Diff(before.Status, mc.Status); diff != "" {
		t.Errorf("the same problem must give the same status (-before +after):\n%s", diff)
	}
	lost.Failure, lost.Message = v1alpha1.ReasonTimeout, "no answer"
	statusWriter{probe: lost, now: now.Add(time.Hour)}.write(mc)
	ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	if diff := cmp.Diff([]string{"Timeout", "since 2026-01-02T03:04:05Z: no answer"}, []string{ready.Reason, ready.Message}); diff != "" {
		t.Errorf("another kind of error is not another outage:\n%s", diff)
	}
	statusWriter{probe: well(), now: now.Add(2 * time.Hour)}.write(mc)
	ready = meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionTrue || !ready.LastTransitionTime.Time.Equal(now.Add(2*time.Hour)) {
		t.Errorf("Ready is not True after the member answers again: %+v", ready)
	}
	statusWriter{probe: lost, now: now.Add(3 * time.Hour)}.write(mc)
	if got := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady).Message; !strings.HasPrefix(got, "since 2026-01-02T06:04:05Z: ") {
		t.Errorf("the next outage begins anew: %s", got)
	}
}

// The manager has no present information about these conditions. An old True would mislead a reader.
func TestConditionsThatTheManagerCannotJudgeAreUnknown(t *testing.T) {
	ready := func(mc *v1alpha1.MemberCluster) string {
		return meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady).Message
	}
	mc := registered(v1alpha1.CollectorExternal)
	statusWriter{probe: well(), now: now}.write(mc)
	if diff := cmp.Diff([]string{"Reachable True Answers", "CredentialsValid True Answers", "CollectorReady True Collecting", "Ready True Ready"},
		said(mc)); diff != "" {
		t.Fatal(diff)
	}
	missing := &member.CredentialsError{Reason: v1alpha1.ReasonCredentialsMissing, Message: "no Secret"}
	statusWriter{refusal: missing, now: now.Add(time.Hour)}.write(mc)
	if diff := cmp.Diff([]string{"Reachable Unknown CredentialsMissing", "CredentialsValid False CredentialsMissing",
		"CollectorReady Unknown CredentialsMissing", "Ready False CredentialsMissing", "no Secret"}, append(said(mc), ready(mc))); diff != "" {
		t.Error(diff)
	}
	lost := well()
	lost.Reachable, lost.Valid, lost.Reason, lost.Message = false, false, v1alpha1.ReasonUnreachable, "no route"
	statusWriter{probe: lost, now: now.Add(2 * time.Hour)}.write(mc)
	if diff := cmp.Diff([]string{"Reachable False Unreachable", "CredentialsValid Unknown Unreachable", "CollectorReady Unknown Unreachable",
		"Ready False Unreachable", "since 2026-01-02T05:04:05Z: no route"}, append(said(mc), ready(mc))); diff != "" {
		t.Error(diff)
	}
}

func TestTheUIDOfTheJoinedClusterIsNotReplaced(t *testing.T) {
	mc := registered(v1alpha1.CollectorHost)
	statusWriter{probe: well(), now: now}.write(mc)
	other := well()
	other.UID = "other"
	statusWriter{probe: other, now: now}.write(mc)
	if diff := cmp.Diff("m", string(mc.Status.UID)); diff != "" {
		t.Error(diff)
	}
}

func TestTheVersionOfTheCollectorIsWrittenOnChangesOnly(t *testing.T) {
	mc := registered(v1alpha1.CollectorMember)
	at := statusWriter{probe: well(), now: now, version: "v0.1.0", inspected: inspection{read: true}}
	at.write(mc)
	first := mc.DeepCopy()
	at.probe.Heartbeat, at.probe.HeartbeatChanged, at.now = now, now, now.Add(time.Minute)
	at.write(mc)
	if diff := cmp.Diff(first.Status, mc.Status); diff != "" || mc.Status.CollectorVersion != "v0.1.0" {
		t.Errorf("version %q; a new heartbeat changes the status: %s", mc.Status.CollectorVersion, diff)
	}
	newer := at.probe
	newer.CollectorVersion = "v0.2.0"
	if newer.Same(at.probe) {
		t.Error("another version must lead to a reconcile")
	}
	lost := at
	lost.probe = member.ProbeResult{Probed: true, Reason: v1alpha1.ReasonUnreachable, Message: "no route"}
	lost.write(mc)
	if mc.Status.CollectorVersion != "v0.1.0" {
		t.Errorf("an outage changed the version to %q", mc.Status.CollectorVersion)
	}
	at.probe = newer
	at.write(mc)
	if mc.Status.CollectorVersion != "v0.2.0" {
		t.Errorf("got %q", mc.Status.CollectorVersion)
	}
}

func TestTheMessageFollowsTheRefusal(t *testing.T) {
	mc := registered(v1alpha1.CollectorHost)
	changed := member.ProbeResult{Probed: true, Reachable: true, Reason: v1alpha1.ReasonIdentityChanged, Message: "uid a"}
	statusWriter{probe: changed, now: now}.write(mc)
	changed.Message = "uid b"
	statusWriter{probe: changed, now: now}.write(mc)
	if diff := cmp.Diff("uid b", meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady).Message); diff != "" {
		t.Error(diff)
	}
}

func TestTextFromAMemberIsBoundedAndPlain(t *testing.T) {
	mc := registered(v1alpha1.CollectorHost)
	lost := member.ProbeResult{Probed: true, Reason: v1alpha1.ReasonUnreachable, Message: "\x1b[31m" + strings.Repeat("x", 10000)}
	statusWriter{probe: lost, now: now}.write(mc)
	got := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady).Message
	if len(got) > 4096 || strings.ContainsRune(got, '\x1b') {
		t.Errorf("the message has %d bytes, and begins with %q", len(got), got[:20])
	}
}

func TestNoSecretOfAnErrorIsInTheConditions(t *testing.T) {
	overdue := func(err error) *tokens.Overdue { return &tokens.Overdue{Account: "fairlead-host", Err: err} }
	for _, text := range secretcorpus.InSentences(t) {
		err := errors.New(text)
		for name, writer := range map[string]statusWriter{
			"the unjoin cannot finish":           {leaving: fmt.Errorf("leaving member east: %w", err)},
			"the collector ended":                {ended: &ending{err: err, at: now}},
			"the token is overdue":               {renewal: tokens.Renewal{Expires: now, Overdue: overdue(err)}},
			"the token of the collector is, too": {renewal: tokens.Renewal{CollectorOverdue: overdue(err)}},
		} {
			mc := registered(v1alpha1.CollectorHost)
			writer.probe, writer.now = well(), now
			writer.write(mc)
			told := fmt.Sprint(mc.Status.Conditions)
			if strings.Contains(told, secretcorpus.Word) || !strings.Contains(told, redact.Mark) {
				t.Errorf("%s, %q: %s", name, text, told)
			}
		}
	}
}

func TestALargeClockSkewIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		ahead time.Duration
		words string
	}{
		"clocks that agree":       {},
		"some minutes":            {ahead: 4 * time.Minute},
		"the member's is ahead":   {ahead: time.Hour + 20*time.Second, words: "; the member's clock is 1h0m ahead of the host's"},
		"the member's is behind":  {ahead: -90 * time.Minute, words: "; the member's clock is 1h30m behind the host's"},
		"by no more than minutes": {ahead: -7 * time.Minute, words: "; the member's clock is 7m behind the host's"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, valid := range []bool{true, false} { // the text is needed in both cases, because a wrong clock can be why a member refuses the credentials
				s := well()
				s.Ahead, s.Valid, s.Message = test.ahead, valid, "no"
				mc := registered(v1alpha1.CollectorHost)
				statusWriter{probe: s, now: now}.write(mc)
				got := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady).Message
				if told := strings.Contains(got, "clock"); told != (test.words != "") || !strings.Contains(got, test.words) {
					t.Errorf("with credentials valid %t the message is: %s", valid, got)
				}
			}
		})
	}
}

func TestCollectorReady(t *testing.T) {
	for name, test := range map[string]struct {
		mode   v1alpha1.CollectorMode
		change func(*member.ProbeResult)
		ended  *ending
		shared bool
		ok     bool
		reason string
		words  string
	}{
		"the collector in the manager runs, without a heartbeat": {
			mode: v1alpha1.CollectorHost, change: func(s *member.ProbeResult) { s.Heartbeat = time.Time{} }, ok: true,
			reason: v1alpha1.ReasonCollecting,
		},
		"the collector in the manager uses the host's account after a join of an earlier version": {mode: v1alpha1.CollectorHost, shared: true, ok: true,
			reason: v1alpha1.ReasonCollecting, words: "no token of the account fairlead-system/fairlead-collector: run `hostctl join east --cluster-kubeconfig FILE` again"},
		"the host's account may no longer report, and the collector has no token": {mode: v1alpha1.CollectorHost, shared: true,
			change: func(s *member.ProbeResult) { s.HeartbeatChanged = now.Add(-member.HeartbeatTimeout - 1) },
			reason: v1alpha1.ReasonNoHeartbeat, words: "does not allow the host's own account to write heartbeats: run `hostctl join east --cluster-kubeconfig FILE` again"},
		"a heartbeat with the host's account just in time": {mode: v1alpha1.CollectorHost, shared: true, ok: true,
			change: func(s *member.ProbeResult) { s.HeartbeatChanged = now.Add(-member.HeartbeatTimeout) },
			reason: v1alpha1.ReasonCollecting, words: "the collector in the manager uses the host's account"},
		"no heartbeat yet with the host's account": {mode: v1alpha1.CollectorHost, shared: true, ok: true,
			change: func(s *member.ProbeResult) { s.Heartbeat, s.HeartbeatChanged = time.Time{}, time.Time{} },
			reason: v1alpha1.ReasonCollecting, words: "the collector in the manager uses the host's account"},
		"the host's collector has its own token, and wrote nothing while the member was away": {mode: v1alpha1.CollectorHost, ok: true,
			change: func(s *member.ProbeResult) { s.HeartbeatChanged = now.Add(-time.Hour) },
			reason: v1alpha1.ReasonCollecting, words: "the collector in the manager runs"},
		"the host's collector has its own token, and wrote nothing for a long time": {mode: v1alpha1.CollectorHost,
			change: func(s *member.ProbeResult) { s.HeartbeatChanged, s.CollectorSilent = now.Add(-time.Hour), true },
			reason: v1alpha1.ReasonNoHeartbeat, words: "has written no heartbeat since 2026-01-02T02:04:05Z: look for the member in the manager's log"},
		"the member forbids the heartbeats of the host's collector": {mode: v1alpha1.CollectorHost, change: func(s *member.ProbeResult) { s.CollectorForbidden = true },
			reason: v1alpha1.ReasonForbidden, words: "run `hostctl join east --cluster-kubeconfig FILE` again, which restores the roles"},
		"the member refuses the token of the host's collector": {mode: v1alpha1.CollectorHost, change: func(s *member.ProbeResult) { s.CollectorRefused = true },
			reason: v1alpha1.ReasonUnauthorized, words: "run `hostctl join east --cluster-kubeconfig FILE` again"},
		"a heartbeat that is just recent enough": {mode: v1alpha1.CollectorExternal,
			change: func(s *member.ProbeResult) { s.HeartbeatChanged = now.Add(-member.HeartbeatTimeout) }, ok: true,
			reason: v1alpha1.ReasonCollecting, words: "v0.1.0"},
		"a heartbeat that is too old": {mode: v1alpha1.CollectorExternal,
			change: func(s *member.ProbeResult) { s.HeartbeatChanged = now.Add(-member.HeartbeatTimeout - 1) }, reason: v1alpha1.ReasonNoHeartbeat,
			words: "no heartbeat since"},
		"no heartbeat ever": {mode: v1alpha1.CollectorExternal, change: func(s *member.ProbeResult) { s.Heartbeat = time.Time{} },
			reason: v1alpha1.ReasonNoHeartbeat, words: "hostctl join east --cluster-kubeconfig FILE --collector Host"},
		"a member whose clock is far off": {
			mode: v1alpha1.CollectorExternal, change: func(s *member.ProbeResult) { s.Heartbeat = now.Add(-48 * time.Hour) }, ok: true,
			reason: v1alpha1.ReasonCollecting,
		},
		"the host's collector has ended": {mode: v1alpha1.CollectorHost, ended: &ending{err: errNoReason, at: now},
			reason: v1alpha1.ReasonNoHeartbeat, words: "the manager is starting it again. If that does not help, look at the manager's log and run `hostctl join east --cluster-kubeconfig FILE` again. Why it ended: the task ended without an error"},
		"the host's collector has written a heartbeat since it ended": {mode: v1alpha1.CollectorHost, ok: true, reason: v1alpha1.ReasonCollecting,
			ended: &ending{err: errNoReason, at: now.Add(-2 * time.Minute)}},
		"the host's collector ended while another collector runs": {mode: v1alpha1.CollectorExternal, ok: true, reason: v1alpha1.ReasonCollecting,
			ended: &ending{err: errNoReason, at: now}},
	} {
		t.Run(name, func(t *testing.T) {
			s := well()
			if test.change != nil {
				test.change(&s)
			}
			c := statusWriter{probe: s, renewal: tokens.Renewal{Shared: test.shared}, ended: test.ended.unlessHeardOf(s.HeartbeatChanged), now: now}.collectorReady(registered(test.mode))
			if (c.Status == metav1.ConditionTrue) != test.ok || c.Reason != test.reason || !strings.Contains(c.Message, test.words) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestRequeueAfter(t *testing.T) {
	for name, test := range map[string]struct {
		mode  v1alpha1.CollectorMode
		due   time.Time
		ahead time.Duration
		ended *ending
		want  time.Duration
	}{
		"no condition changes with time":        {mode: v1alpha1.CollectorHost},
		"the heartbeat becomes too old":         {mode: v1alpha1.CollectorExternal, want: time.Minute},
		"a token expires":                       {mode: v1alpha1.CollectorHost, due: now.Add(time.Hour), want: time.Hour},
		"a stopped collector may start again":   {mode: v1alpha1.CollectorHost, due: now.Add(time.Hour), ended: &ending{}, want: time.Minute},
		"a token expires by the member's clock": {mode: v1alpha1.CollectorHost, due: now.Add(3 * time.Hour), ahead: time.Hour, want: 2 * time.Hour},
		"an overdue token waits for a minute":   {mode: v1alpha1.CollectorHost, due: now.Add(-time.Hour), want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := requeueAfter(test.mode, tokens.Renewal{Due: test.due}, test.ended, now.Add(test.ahead)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
