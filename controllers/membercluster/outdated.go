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

// maxFields is the largest number of missing fields that one message names.
const maxFields = 5

// tellOutdated sets or removes the condition MemberOutdated. The condition stays unchanged while the manager cannot
// reach the member or has not inspected it. tellOutdated returns the text to append to the message of Ready; "" if
// MemberOutdated is absent.
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

// outdated returns a reason and messages if the member's CRDs or its collector are older than the host's. The reason is
// "" if both are up to date.
func (d statusWriter) outdated(mc *v1alpha1.MemberCluster) (reason string, words []string) {
	again := fmt.Sprintf("run `hostctl join %s --cluster-kubeconfig FILE` with hostctl %s or later", mc.Name, d.version)
	if lacks := d.inspected.missing; len(lacks) > 0 {
		reason = v1alpha1.ReasonCRDsOutdated
		by := ""
		if d.inspected.appliedBy != "" {
			by = ", which hostctl " + d.inspected.appliedBy + " applied,"
		}
		words = append(words, fmt.Sprintf(
			"the member's CRDs%s lack fields of the host's CRDs: %s. The manager makes no push that needs these fields: %s", by, messages.Few(lacks, maxFields), again))
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

// isOlder reports whether the first version is older than the second. It returns false if one of them is no version.
func isOlder(than, other string) bool {
	order, err := version.Compare(than, other)
	return err == nil && order < 0
}

// memberCollectorReady returns the condition CollectorReady for a collector on the member. The heartbeat shows whether
// the collector works. The Deployment shows why it does not run.
func (d statusWriter) memberCollectorReady(mc *v1alpha1.MemberCluster) metav1.Condition {
	s, state := d.probe, d.inspected.collector
	again := fmt.Sprintf("run `hostctl join %s --cluster-kubeconfig FILE` again, which installs the collector again "+
		"(--image, --image-pull-secret and --toleration change its settings)", mc.Name)
	silent := s.Heartbeat.IsZero() || d.now.Sub(s.HeartbeatChanged) > member.HeartbeatTimeout
	fails := state != nil && state.Reason != ""
	was := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCollectorReady)
	switch {
	case mc.DeletionTimestamp != nil: // the unjoin removes the collector before other objects
		return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "the unjoin removes the collector from the member")
	case state == nil && !silent && was != nil && was.ObservedGeneration == mc.Generation: // the manager has just started and has not read the Deployment yet, so the condition stays as it is
		return *was
	case fails && !state.Available && (silent || state.Reason != v1alpha1.ReasonCollectorStarting):
		return collectorFound(metav1.ConditionFalse, state.Reason, "member %s: %s; %s", mc.Name, state.Message, remedy(state.Reason, again))
	case s.Heartbeat.IsZero():
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the collector on the member has not reported since the member was joined. "+
			"See its log on the member: `kubectl --namespace %s logs deployment/%s`", v1alpha1.SystemNamespace, membercollector.Name)
	case silent:
		return collectorFound(metav1.ConditionFalse, v1alpha1.ReasonNoHeartbeat, "the collector on the member has written no heartbeat since %s: see its log on the member, "+
			"`kubectl --namespace %s logs deployment/%s`", s.HeartbeatChanged.UTC().Format(time.RFC3339), v1alpha1.SystemNamespace, membercollector.Name)
	case fails:
		return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "collector %s runs on the member, but the new version of its Deployment does not roll out: %s: %s",
			s.CollectorVersion, state.Reason, state.Message)
	}
	return collectorFound(metav1.ConditionTrue, v1alpha1.ReasonCollecting, "collector %s runs on the member%s", s.CollectorVersion, d.managerIsOlder())
}

// managerIsOlder returns the end of a message about a collector that is newer than the manager; "" if it is not. The manager does not read what
// a later collector adds to the Deliveries.
func (d statusWriter) managerIsOlder() string {
	if !isOlder(d.version, d.probe.CollectorVersion) {
		return ""
	}
	return fmt.Sprintf("; it is newer than the manager, which has version %s: upgrade the manager", d.version)
}

// remedy returns the part of a message that tells what a person can do about a collector that does not run.
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
