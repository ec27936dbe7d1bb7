// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// maxFields is the number of missing fields that a message names.
const maxFields = 5

// tellOutdated writes or removes the condition MemberOutdated, and returns the addition to the message of Ready. The
// condition stays as it is until the manager has inspected the member.
func (d statusWriter) tellOutdated(mc *v1alpha1.MemberCluster) string {
	if d.probe.Usable() && d.inspected.read {
		reason, words := d.outdated(mc)
		if reason == "" {
			meta.RemoveStatusCondition(&mc.Status.Conditions, v1alpha1.ConditionMemberOutdated)
			return ""
		}
		d.set(mc, metav1.Condition{Type: v1alpha1.ConditionMemberOutdated, Status: metav1.ConditionTrue, Reason: reason,
			Message: strings.Join(words, "; ")})
	}
	if meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionMemberOutdated) == nil {
		return ""
	}
	return "; its CRDs or its collector are older than the host's, see MemberOutdated"
}

// outdated describes what on the member is older than the host's part. The reason is "" if nothing is.
func (d statusWriter) outdated(mc *v1alpha1.MemberCluster) (reason string, words []string) {
	again := fmt.Sprintf("run `hostctl join %s --cluster-kubeconfig FILE` with hostctl %s or later", mc.Name, d.version)
	if lacks := d.inspected.missing; len(lacks) > 0 {
		reason = v1alpha1.ReasonCRDsOutdated
		by := ""
		if d.inspected.appliedBy != "" {
			by = ", which hostctl " + d.inspected.appliedBy + " applied,"
		}
		words = append(words, fmt.Sprintf("the member's CRDs%s lack fields of the host's: %s. The manager holds pushes that need these fields: %s", by, messages.Few(lacks, maxFields), again))
	}
	if mc.Spec.Collector == v1alpha1.CollectorHost || !isOlder(d.probe.CollectorVersion, d.version) {
		return reason, words
	}
	if reason == "" {
		reason = v1alpha1.ReasonCollectorOutdated
	}
	if mc.Spec.Collector == v1alpha1.CollectorExternal {
		again = "start the collector of the manager's version"
	}
	return reason, append(words, fmt.Sprintf("the collector has version %s and the manager has version %s: %s", d.probe.CollectorVersion, d.version, again))
}

// isOlder reports whether a version is known to be older than another.
func isOlder(than, other string) bool {
	order, err := version.Compare(than, other)
	return err == nil && order < 0
}

// memberCollectorReady is the condition CollectorReady for a collector on the member. The Deployment shows why the
// collector does not run, and the heartbeat shows that it runs.
func (d statusWriter) memberCollectorReady(mc *v1alpha1.MemberCluster) metav1.Condition {
	s, state := d.probe, d.inspected.collector
	again := fmt.Sprintf("run `hostctl join %s --cluster-kubeconfig FILE` again, which installs it, with other settings if you give them (--image, --image-pull-secret, --toleration)", mc.Name)
	silent := s.Heartbeat.IsZero() || d.now.Sub(s.HeartbeatChanged) > member.HeartbeatTimeout
	fails := state != nil && state.Reason != ""
	was := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCollectorReady)
	switch {
	case mc.DeletionTimestamp != nil: // the manager removes the collector first, and does not wait for its end
		return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "the collector is removed with the membership")
	case state == nil && !silent && was != nil && was.ObservedGeneration == mc.Generation: // the manager has just started
		return *was
	case fails && !state.Available && (silent || state.Reason != v1alpha1.ReasonCollectorStarting):
		return collectorFound(metav1.ConditionFalse, state.Reason, "member %s: %s; %s", mc.Name, state.Message, remedy(state.Reason, again))
	case s.Heartbeat.IsZero():
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the collector on the member has not reported since the member was joined. "+
			"See its log on the member: `kubectl --namespace %s logs deployment/%s`", v1alpha1.SystemNamespace, membercollector.Name)
	case silent:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the collector on the member has been silent since %s: see its log on the member, "+
			"`kubectl --namespace %s logs deployment/%s`", s.HeartbeatChanged.UTC().Format(time.RFC3339), v1alpha1.SystemNamespace, membercollector.Name)
	case fails:
		return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "collector %s runs on the member, but its Deployment does not roll out: %s: %s",
			s.CollectorVersion, state.Reason, state.Message)
	}
	return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "collector %s runs on the member", s.CollectorVersion)
}

// remedy tells a person what to do about a collector that does not run.
func remedy(reason, again string) string {
	switch reason {
	case v1alpha1.ReasonCollectorStarting:
		return "wait"
	case v1alpha1.ReasonPodRefused, v1alpha1.ReasonPodUnschedulable:
		return "change the member so that it accepts the pod, or " + again
	case v1alpha1.ReasonCollectorCrashed:
		return fmt.Sprintf("see its log on the member: `kubectl --namespace %s logs deployment/%s --previous`", v1alpha1.SystemNamespace, membercollector.Name)
	}
	return again
}
