// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// clockTolerance is the smallest difference between the clocks of host and member that Ready mentions.
const clockTolerance = 5 * time.Minute

// publish writes the state of a member to the status of its MemberCluster if the status changes. leaving is why the
// unjoin of the member cannot finish yet; nil if nothing prevents it, or if the member is not being unjoined.
func (r *Reconciler) publish(
	ctx context.Context, mc *v1alpha1.MemberCluster, refusal *member.CredentialsError, renewal tokens.Renewal, leaving error,
) (ctrl.Result, error) {
	probe, connected := r.fleet.LastProbe(mc.Name)
	ended := r.collectors.ended(mc.Name).unlessHeardOf(probe.HeartbeatChanged)
	again := requeueAfter(mc.Spec.Collector, renewal, ended, probe.There(r.clock.Now()))
	if refusal == nil && (!connected || !probe.Probed) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	base := mc.DeepCopy()
	statusWriter{probe: probe, refusal: refusal, renewal: renewal, ended: ended, leaving: leaving, now: r.clock.Now(),
		inspected: r.collectors.inspections.of(mc.Name), version: r.version}.write(mc)
	r.reportOrphans(ctx, mc)
	recordExpiry(mc)
	recordConditions(mc)
	recordVersions(mc, r.version)
	if equality.Semantic.DeepEqual(base.Status, mc.Status) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	if err := r.client.Status().Patch(ctx, mc, client.MergeFrom(base)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("writing the status of MemberCluster %s: %w", mc.Name, err))
	}
	recordReadiness(r.events, mc, base.Status.Conditions)
	return ctrl.Result{RequeueAfter: again}, nil
}

// requeueAfter returns the time until the next reconcile without an event; 0 if no such reconcile is needed. No event
// comes when a heartbeat becomes too old or a token is about to expire. The parameter `there` has the present time by
// the member's clock.
func requeueAfter(mode v1alpha1.CollectorMode, renewal tokens.Renewal, ended *ending, there time.Time) time.Duration {
	again := time.Duration(0)
	if !renewal.Due.IsZero() {
		again = max(time.Minute, renewal.Due.Sub(there))
	}
	if mode != v1alpha1.CollectorHost || renewal.Shared || ended != nil {
		again = time.Minute
	}
	return again
}

// statusWriter sets the status of a MemberCluster from what the manager has read about the member.
type statusWriter struct {
	probe member.ProbeResult
	// refusal is the reason why the manager has no connection to the member; nil if it has one.
	refusal *member.CredentialsError
	renewal tokens.Renewal
	// ended is the last time that the member's collector inside the manager ended by itself. It is nil if that never
	// happened, or if the collector has written a heartbeat since.
	ended *ending
	// leaving is as in publish.
	leaving error
	now     time.Time
	// inspected is what the manager has read about Fairlead's CRDs and collector on the member.
	inspected inspection
	// version is the manager's version.
	version string
}

// write sets the whole status except the orphans.
func (d statusWriter) write(mc *v1alpha1.MemberCluster) {
	if s := d.probe; s.Usable() {
		if mc.Status.UID == "" { // the uid of the joined cluster is set once; see docs/design.md, section 2
			mc.Status.UID = s.UID
		}
		mc.Status.KubernetesVersion, mc.Status.Grants, mc.Status.Facts = s.Version, s.Grants, s.Facts
		mc.Status.CollectorVersion = s.CollectorVersion
		if d.leaving == nil {
			mc.Status.CredentialsExpireTime = metav1.NewTime(d.renewal.Expires)
		}
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady,
		Message: "the manager can push to the member"}
	for _, c := range d.conditions(mc) {
		if c.Status != metav1.ConditionTrue && ready.Status == metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, c.Reason, c.Message
		}
		d.set(mc, c)
	}
	switch {
	case d.leaving != nil && ready.Status == metav1.ConditionTrue:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1alpha1.ReasonLeaving, health.Tidy(d.leaving.Error(), maxError)
	case d.leaving != nil: // ready.Message has the way out of another problem; --forget is a second way out
		ready.Message = fmt.Sprintf("the unjoin of the member cannot finish before this problem is gone (`hostctl unjoin %s --forget` does not wait for it): %s", mc.Name, ready.Message)
	}
	ready.Message += d.overdue() + d.enforced(mc) + d.clocks() + d.tellOutdated(mc)
	d.set(mc, ready)
}

// maxError is the largest number of bytes that a message quotes from an error. An error can have what a member answered.
const maxError = 1024

// overdue returns the text for the message of Ready about tokens that the manager could not renew. It refers to the
// condition that gives the reason. Ready has to mention such a token, because the list of members shows only Ready.
func (d statusWriter) overdue() string {
	var b strings.Builder
	for _, o := range []struct {
		*tokens.Overdue
		see string
	}{{d.renewal.Overdue, v1alpha1.ConditionCredentialsValid}, {d.renewal.CollectorOverdue, v1alpha1.ConditionCollectorReady}} {
		if o.Overdue != nil {
			fmt.Fprintf(&b, "; the manager has not been able to renew the token of %s, which ends on %s; see condition %s", o.Account, o.Expires.UTC().Format(time.DateOnly), o.see)
		}
	}
	return b.String()
}

// notRenewed returns the text about one token that the manager could not renew: the reason, and the remedy. It returns
// "" if o is nil, that is, if the renewal is not overdue.
func notRenewed(name string, o *tokens.Overdue) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("; the manager has not been able to renew the token of the member's account %s/%s since %s. The token ends on %s. "+
		"Run `hostctl join %s --cluster-kubeconfig FILE` before that. The last error: %s", v1alpha1.SystemNamespace, o.Account,
		o.Since.UTC().Format(time.RFC3339), o.Expires.UTC().Format(time.RFC3339), name, health.Tidy(o.Err.Error(), maxError))
}

// enforced returns the text for the message of Ready if the member enforces another namespacePolicy than the
// MemberCluster has. The member's own policy applies, and only a person with permissions on the member can change it.
func (d statusWriter) enforced(mc *v1alpha1.MemberCluster) string {
	there, here := d.probe.NamespacePolicy, cmp.Or(mc.Spec.NamespacePolicy, v1alpha1.NamespacesManaged)
	switch {
	case !d.probe.Usable() || there == here:
		return ""
	case there == "":
		return fmt.Sprintf("; the member has no admission policy that enforces namespacePolicy %s: run `hostctl join %s --cluster-kubeconfig FILE` to install it",
			here, mc.Name)
	}
	return fmt.Sprintf("; spec.namespacePolicy is %[2]s, but the member enforces %[3]s: "+
		"`hostctl join %[1]s --cluster-kubeconfig FILE --namespaces %[2]s`, with the member's kubeconfig, changes the member's policy; "+
		"or put spec.namespacePolicy back", mc.Name, here, there)
}

// clocks returns the text for the message of Ready if a member's clock differs much from the host's. It is needed
// whether Ready is True or False, because a wrong clock may be the cause of other problems.
func (d statusWriter) clocks() string {
	off, where := d.probe.Ahead, "ahead of"
	if off < 0 {
		off, where = -off, "behind"
	}
	if off < clockTolerance {
		return ""
	}
	return fmt.Sprintf("; the member's clock is %s %s the host's clock. Fairlead allows for that, but certificate checks may fail: correct the clock of the member or of the host",
		strings.TrimSuffix(off.Round(time.Minute).String(), "0s"), where)
}

func (d statusWriter) set(mc *v1alpha1.MemberCluster, c metav1.Condition) {
	c.Message = report.Condition(c.Message)
	c.ObservedGeneration, c.LastTransitionTime = mc.Generation, metav1.NewTime(d.now)
	meta.SetStatusCondition(&mc.Status.Conditions, c)
}

// conditions returns all conditions except Ready. The first one that is not True is the cause of the problems in the
// conditions after it. A condition is Unknown if the manager has no present information about it: with the old True or
// False, a reader would take old information for new.
func (d statusWriter) conditions(mc *v1alpha1.MemberCluster) []metav1.Condition {
	reachable := metav1.Condition{Type: v1alpha1.ConditionReachable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAnswers,
		Message: "the API server answers"}
	valid := metav1.Condition{Type: v1alpha1.ConditionCredentialsValid, Status: metav1.ConditionTrue, Reason: d.probe.Reason,
		Message: acceptedUntil(mc.Name, d.renewal)}
	unknown := func(kind, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
	}
	switch s := d.probe; {
	case d.refusal != nil: // without usable credentials the manager does not probe the member
		valid.Status, valid.Reason, valid.Message = metav1.ConditionFalse, d.refusal.Reason, d.refusal.Message
		const message = "unknown, because the manager sends nothing to the member until it has usable credentials: see condition CredentialsValid"
		return []metav1.Condition{valid, unknown(v1alpha1.ConditionReachable, d.refusal.Reason, message),
			unknown(v1alpha1.ConditionCollectorReady, d.refusal.Reason, message)}
	case !s.Reachable:
		reachable.Status, reachable.Reason = metav1.ConditionFalse, cmp.Or(s.Failure, s.Reason)
		reachable.Message = fmt.Sprintf("since %s: %s", d.unreachableSince(mc).UTC().Format(time.RFC3339), s.Message)
		const message = "unknown, because the manager cannot reach the member: see condition Reachable"
		return []metav1.Condition{reachable, unknown(v1alpha1.ConditionCredentialsValid, reachable.Reason, message),
			unknown(v1alpha1.ConditionCollectorReady, reachable.Reason, message)}
	case !s.Valid: // the member answers, so it is Reachable, but it refuses the credentials
		valid.Status, valid.Message = metav1.ConditionFalse, s.Message
		return []metav1.Condition{reachable, valid,
			unknown(v1alpha1.ConditionCollectorReady, s.Reason, "unknown, because the member refuses the manager's credentials: see condition CredentialsValid")}
	}
	return []metav1.Condition{reachable, valid, d.collectorReady(mc)}
}

// unreachableSince returns when Reachable became False. It is a point in time and not a duration, so that the message stays
// the same while the member stays away.
func (d statusWriter) unreachableSince(mc *v1alpha1.MemberCluster) time.Time {
	if was := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReachable); was != nil && was.Status == metav1.ConditionFalse {
		return was.LastTransitionTime.Time
	}
	return d.now
}

// collectorAccount is the NAMESPACE/NAME of the collector's account on a member, for messages.
const collectorAccount = v1alpha1.SystemNamespace + "/" + permissions.CollectorAccount

// collectorReady returns the condition CollectorReady of a member that answers.
func (d statusWriter) collectorReady(mc *v1alpha1.MemberCluster) metav1.Condition {
	switch mc.Spec.Collector {
	case v1alpha1.CollectorExternal:
		return d.externalCollectorReady(mc)
	case v1alpha1.CollectorMember:
		return d.memberCollectorReady(mc)
	}
	return d.hostCollectorReady(mc)
}

func collectorFound(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionCollectorReady, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// hostCollectorReady returns the condition CollectorReady for a collector inside the manager. It is False if the collector
// ended and has written no heartbeat since, if the member refuses the collector's token or forbids its heartbeats, or if
// no heartbeat comes although the member is usable.
func (d statusWriter) hostCollectorReady(mc *v1alpha1.MemberCluster) metav1.Condition {
	s := d.probe
	switch {
	case mc.DeletionTimestamp != nil: // the unjoin has stopped the collector
		return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "the unjoin has stopped the collector in the manager")
	case d.ended != nil:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the host's collector ended at %s and has written no heartbeat since; the manager is starting it again. "+
			"If that does not help, look at the manager's log and run `hostctl join %s --cluster-kubeconfig FILE` again. Why it ended: %s",
			d.ended.at.UTC().Format(time.RFC3339), mc.Name, health.Tidy(d.ended.err.Error(), maxError))
	case s.CollectorRefused:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonUnauthorized, "the member does not accept the token of the account %s, which the host's collector uses: "+
			"run `hostctl join %s --cluster-kubeconfig FILE` again", collectorAccount, mc.Name)
	case s.CollectorForbidden:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonForbidden, "the member forbids the account %s, which the host's collector uses, to write its heartbeat: "+
			"run `hostctl join %s --cluster-kubeconfig FILE` again, which restores the roles", collectorAccount, mc.Name)
	case d.renewal.Shared && !s.Heartbeat.IsZero() && d.now.Sub(s.HeartbeatChanged) > member.HeartbeatTimeout:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the host's collector has written no heartbeat since %[3]s. The host's Secret has no token "+
			"of the account %[2]s, and the member does not allow the host's own account to write heartbeats: run `hostctl join %[1]s --cluster-kubeconfig FILE` again",
			mc.Name, collectorAccount, s.HeartbeatChanged.UTC().Format(time.RFC3339))
	case s.CollectorSilent:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the collector in the manager has written no heartbeat since %s: look for the member in the manager's log, "+
			"`kubectl --namespace %s logs -l app.kubernetes.io/name=fairlead --prefix --tail=500`, and restart the manager if the log tells no reason",
			s.HeartbeatChanged.UTC().Format(time.RFC3339), v1alpha1.SystemNamespace)
	case d.renewal.Shared:
		return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "the collector in the manager uses the host's account, because the host's Secret has no token "+
			"of the account %[2]s: run `hostctl join %[1]s --cluster-kubeconfig FILE` again to give it one", mc.Name, collectorAccount)
	}
	return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "the collector in the manager runs%s", notRenewed(mc.Name, d.renewal.CollectorOverdue))
}

// externalCollectorReady returns the condition CollectorReady for a collector that a person runs. Only the collector's
// heartbeat shows that it works.
func (d statusWriter) externalCollectorReady(mc *v1alpha1.MemberCluster) metav1.Condition {
	s := d.probe
	switch {
	case s.Heartbeat.IsZero():
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "no collector has written a heartbeat since the member was joined. Run "+
			"`collector --kubeconfig FILE --cluster-name %[1]s` with a token of the member's account %[2]s, or let the host run the collector with "+
			"`hostctl join %[1]s --cluster-kubeconfig FILE --collector Host`",
			mc.Name, collectorAccount)
	case d.now.Sub(s.HeartbeatChanged) > member.HeartbeatTimeout:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the collector has written no heartbeat since %s: check that it runs, "+
			"and that the member still accepts its token (account %s)",
			s.HeartbeatChanged.UTC().Format(time.RFC3339), collectorAccount)
	}
	return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "collector %s runs%s", s.CollectorVersion, d.managerIsOlder())
}

// acceptedUntil returns the message of CredentialsValid=True, with the day on which the host's token expires. A later
// day than before shows that the manager has renewed the token.
func acceptedUntil(name string, renewal tokens.Renewal) string {
	if renewal.Expires.IsZero() {
		return "the member accepts the host's credentials"
	}
	message := "the member accepts the host's token, which is valid until " + renewal.Expires.UTC().Format(time.DateOnly)
	if renewal.Unbound {
		message += fmt.Sprintf("; an earlier version of hostctl joined the member, so old tokens cannot be revoked: run `hostctl join %s --cluster-kubeconfig FILE`", name)
	}
	return message + notRenewed(name, renewal.Overdue)
}
