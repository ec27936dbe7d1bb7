// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// maxMessage bounds what a member's error may say in a condition, in bytes.
const maxMessage = 1024

// publish says on the MemberCluster how the member stands, when that is something new.
func (r *Reconciler) publish(
	ctx context.Context, mc *v1alpha1.MemberCluster, refusal *member.CredentialsError, renewal join.Renewal,
) (ctrl.Result, error) {
	standing, connected := r.fleet.Standing(mc.Name)
	again := r.lookAgain(mc, renewal)
	if refusal == nil && (!connected || !standing.Probed) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	base := mc.DeepCopy()
	describe(mc, standing, refusal, renewal, r.clock.Now())
	if equality.Semantic.DeepEqual(base.Status, mc.Status) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	if err := r.client.Status().Patch(ctx, mc, client.MergeFrom(base)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("writing the status of MemberCluster %s: %w", mc.Name, err))
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// lookAgain is when to come back without any news: a heartbeat can stop, and a token runs out.
func (r *Reconciler) lookAgain(mc *v1alpha1.MemberCluster, renewal join.Renewal) time.Duration {
	again := time.Duration(0)
	if !renewal.Due.IsZero() {
		again = max(time.Minute, renewal.Due.Sub(r.clock.Now()))
	}
	if mc.Spec.Collector == v1alpha1.CollectorExternal {
		again = time.Minute
	}
	return again
}

// describe writes a standing into the status.
func describe(mc *v1alpha1.MemberCluster, s member.Standing, refusal *member.CredentialsError, renewal join.Renewal, now time.Time) {
	if s.Usable() {
		mc.Status.UID, mc.Status.KubernetesVersion = s.UID, s.Version
		mc.Status.Grants, mc.Status.Facts = s.Grants, s.Facts
	}
	set := func(kind string, ok bool, reason, message string) bool {
		status := metav1.ConditionFalse
		if ok {
			status = metav1.ConditionTrue
		}
		message = health.Clean(message, maxMessage)
		if was := meta.FindStatusCondition(mc.Status.Conditions, kind); was != nil && was.Status == status && was.Reason == reason && !ok {
			// The words of a network error differ from one try to the next and say the same.
			message = was.Message
		}
		meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
			ObservedGeneration: mc.Generation, LastTransitionTime: metav1.NewTime(now)})
		return ok
	}
	if refusal != nil {
		set(v1alpha1.ConditionCredentialsValid, false, refusal.Reason, refusal.Message)
		set(v1alpha1.ConditionReady, false, refusal.Reason, refusal.Message)
		return
	}
	collecting, reason, message := collects(mc, s, now)
	ready := true
	for _, c := range []struct {
		kind            string
		ok              bool
		reason, message string
	}{
		{v1alpha1.ConditionReachable, s.Reachable,
			pick(s.Reachable, v1alpha1.ReasonAnswers, s.Reason), pick(s.Reachable, "the API server answers", s.Message)},
		{v1alpha1.ConditionCredentialsValid, s.Valid, s.Reason, pick(s.Valid, acceptedUntil(renewal), s.Message)},
		{v1alpha1.ConditionCollectorReady, collecting, reason, message},
	} {
		if !set(c.kind, c.ok, c.reason, c.message) && ready {
			ready = false
			set(v1alpha1.ConditionReady, false, c.reason, c.message)
		}
	}
	if ready {
		set(v1alpha1.ConditionReady, true, v1alpha1.ReasonReady, "pushes reach the member")
	}
}

// collects says whether somebody observes the member. A collector in the host is at work while the
// member can be reached; one elsewhere says so by its heartbeat.
func collects(mc *v1alpha1.MemberCluster, s member.Standing, now time.Time) (ok bool, reason, message string) {
	switch {
	case !s.Usable():
		return false, pick(s.Reason != "", s.Reason, v1alpha1.ReasonUnreachable), "the member cannot be asked"
	case mc.Spec.Collector != v1alpha1.CollectorExternal:
		return true, v1alpha1.ReasonCollecting, "the host collects"
	case s.Heartbeat.IsZero():
		return false, v1alpha1.ReasonNoHeartbeat, "no collector has been heard of: run one on the member, or set spec.collector: Host"
	case now.Sub(s.HeartbeatChanged) > member.HeartbeatTimeout:
		since := s.HeartbeatChanged.UTC().Format(time.RFC3339)
		return false, v1alpha1.ReasonNoHeartbeat, "the collector has been silent since " + since
	}
	return true, v1alpha1.ReasonCollecting, "collector " + s.CollectorVersion + " is at work"
}

// acceptedUntil says how long the credentials hold, which is how a renewal is seen.
func acceptedUntil(renewal join.Renewal) string {
	if renewal.Expires.IsZero() {
		return "the member accepts the host's credentials"
	}
	return "the member accepts the host's token, which holds until " + renewal.Expires.UTC().Format(time.DateOnly)
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
