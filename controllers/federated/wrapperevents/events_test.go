// SPDX-License-Identifier: Apache-2.0

package wrapperevents

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

func TestWhichEventsAChangeOfReadinessHas(t *testing.T) {
	status := func(is metav1.ConditionStatus, reason string, degraded int32) *v1alpha1.WrapperStatus {
		return &v1alpha1.WrapperStatus{Counts: v1alpha1.ClusterCounts{Degraded: &degraded},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: is, Reason: reason, Message: "a text"}}}
	}
	late := status("False", "NotHealthy", 1)
	late.Conditions = append(late.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: "True",
		Reason: v1alpha1.ReasonProgressDeadlineExceeded, Message: "too late"})
	nothing, ready, degraded := &v1alpha1.WrapperStatus{}, status("True", v1alpha1.ReasonReady, 0), status("False", "NotHealthy", 1)
	for name, test := range map[string]struct {
		before, after *v1alpha1.WrapperStatus
		deleting      bool
		want          []string
	}{
		"ready from the beginning":       {before: nothing, after: ready},
		"a member is degraded":           {before: ready, after: degraded, want: []string{"Warning NotHealthy a text"}},
		"a member stays degraded":        {before: degraded, after: degraded},
		"the reason changes":             {before: degraded, after: status("False", "Stalled", 1), want: []string{"Warning Stalled a text"}},
		"a member makes progress":        {before: nothing, after: status("False", "Applying", 0)},
		"ready again":                    {before: degraded, after: ready, want: []string{"Normal Recovered the wrapper is ready again: a text"}},
		"ready after progress alone":     {before: status("False", "Applying", 0), after: ready},
		"a deadline has passed":          {before: degraded, after: late, want: []string{"Warning ProgressDeadlineExceeded too late"}},
		"the same deadline":              {before: late, after: late},
		"degraded during the deletion":   {before: ready, after: degraded, deleting: true},
		"a deadline during the deletion": {before: degraded, after: late, deleting: true, want: []string{"Warning ProgressDeadlineExceeded too late"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range Readiness(test.before, test.after, test.deleting) {
				got = append(got, e.kind+" "+e.reason+" "+e.note)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichEventAChangeOfARolloutHas(t *testing.T) {
	status := func(id string, state v1alpha1.RolloutState, wave string, begun v1alpha1.YesMark) v1alpha1.RolloutStatus {
		return v1alpha1.RolloutStatus{ID: id, Revision: "r2", State: state, Wave: wave, Begun: begun}
	}
	canary := status("a", v1alpha1.RolloutProgressing, "canary", v1alpha1.Yes)
	waiting := status("a", v1alpha1.RolloutProgressing, "rest", "")
	waiting.WaitingFor = v1alpha1.ReasonWaveNeedsApproval
	manual := status("b", v1alpha1.RolloutProgressing, "canary", "")
	manual.WaitingFor = v1alpha1.ReasonWaveNeedsApproval
	for name, test := range map[string]struct {
		before, after v1alpha1.RolloutStatus
		want          string
	}{
		"a rollout begins": {after: canary, want: corev1.EventTypeNormal + " " + v1alpha1.ReasonRolloutBegan},
		"its first wave needs an Approval": {before: canary, after: manual,
			want: corev1.EventTypeNormal + " " + v1alpha1.ReasonRolloutBegan + ", " + corev1.EventTypeNormal + " " + v1alpha1.ReasonWaveNeedsApproval},
		"nothing changes":           {before: canary, after: canary},
		"a wave begins":             {before: canary, after: status("a", v1alpha1.RolloutProgressing, "rest", v1alpha1.Yes), want: corev1.EventTypeNormal + " " + v1alpha1.ReasonWaveBegan},
		"a wave needs an Approval":  {before: canary, after: waiting, want: corev1.EventTypeNormal + " " + v1alpha1.ReasonWaveNeedsApproval},
		"all waves have passed":     {before: canary, after: status("a", v1alpha1.RolloutComplete, "", ""), want: corev1.EventTypeNormal + " " + v1alpha1.ReasonRolloutComplete},
		"a failure pauses it":       {before: canary, after: status("a", v1alpha1.RolloutPaused, "canary", v1alpha1.Yes), want: corev1.EventTypeWarning + " " + v1alpha1.ReasonRolloutPaused},
		"a failure takes it back":   {before: canary, after: status("a", v1alpha1.RolloutRollingBack, "", ""), want: corev1.EventTypeWarning + " " + v1alpha1.ReasonRolloutRollsBack},
		"every member is back":      {before: canary, after: status("a", v1alpha1.RolloutRolledBack, "", ""), want: corev1.EventTypeWarning + " " + v1alpha1.ReasonRolloutRolledBack},
		"another rollout is paused": {before: status("a", v1alpha1.RolloutPaused, "", ""), after: status("b", v1alpha1.RolloutPaused, "", ""), want: corev1.EventTypeWarning + " " + v1alpha1.ReasonRolloutPaused},
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, e := range Rollout(&test.before, &test.after, "hostctl approve web") {
				all = append(all, e.kind+" "+e.reason)
			}
			if got := strings.Join(all, ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheEventOfAFailureHasTheMessageOfTheMember(t *testing.T) {
	for _, state := range []v1alpha1.RolloutState{v1alpha1.RolloutPaused, v1alpha1.RolloutRollingBack} {
		after := v1alpha1.RolloutStatus{ID: "a", Revision: "r2", State: state,
			Failure: v1alpha1.RolloutFailure{Revision: "r2", Wave: "canary", Cluster: "east", Reason: v1alpha1.ReasonInvalid, Message: "ConfigMap web: no"}}
		all := Rollout(&v1alpha1.RolloutStatus{ID: "a"}, &after, "hostctl approve web")
		if len(all) != 1 || !strings.HasSuffix(all[0].note, "; when the rollout failed, the message of cluster east was \"ConfigMap web: no\"") {
			t.Errorf("%s: %+v", state, all)
		}
	}
}

func TestOperatorsThatStayHaveAnEventOfTheirOwn(t *testing.T) {
	own := push.Kept{Reason: v1alpha1.ReasonKept, Object: "PersistentVolumeClaim data", Why: "it holds data"}
	operator := push.Kept{Reason: v1alpha1.ReasonOperatorLeft, Object: "ClusterServiceVersion shop/db.v1.0.0"}
	key := push.KeyOf(v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web"})
	const (
		kept = "Kept 1 object stays on member east (`hostctl kept web -n shop` lists all); 1: it holds data: PersistentVolumeClaim data"
		left = "OperatorLeft on member east the operator stays: OLM does not remove it with its Subscription. If you want to remove it, delete its " +
			"ClusterServiceVersion there: ClusterServiceVersion shop/db.v1.0.0"
	)
	for name, test := range map[string]struct {
		kept []push.Kept
		want []string
	}{
		"an object of the wrapper": {[]push.Kept{own}, []string{kept}},
		"an operator":              {[]push.Kept{operator}, []string{left}},
		"both":                     {[]push.Kept{operator, own}, []string{kept, left}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range KeptOn(key, "east", test.kept, nil) {
				got = append(got, e.reason+" "+e.note)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAVersionThatIsTakenHasAnEvent(t *testing.T) {
	before := &v1alpha1.UpgradeStatus{Subscriptions: []v1alpha1.SubscriptionVersion{{Name: "a", CSV: "a.v1.0.0"}, {Name: "b", CSV: "b.v1.0.0"}}}
	after := &v1alpha1.UpgradeStatus{Subscriptions: []v1alpha1.SubscriptionVersion{{Name: "a", CSV: "a.v1.1.0"}, {Name: "b", CSV: "b.v1.0.0"}, {Name: "c"}}}
	all := Versions(before, after)
	if len(all) != 1 || all[0].reason != v1alpha1.ReasonVersionTaken || !strings.Contains(all[0].note, "Subscription a: the manager takes a.v1.1.0") {
		t.Errorf("%+v", all)
	}
}
