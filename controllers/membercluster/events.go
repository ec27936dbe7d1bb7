// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
)

// recordReadiness records an event when a member gets into trouble, when the reason of the trouble changes, and when the
// trouble ends. It records no other event, so a member that stays in trouble gets no further event. before are the
// conditions before the last write.
func recordReadiness(recorder events.EventRecorder, mc *v1alpha1.MemberCluster, before []metav1.Condition) {
	was := meta.FindStatusCondition(before, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case inTrouble(is) && (!inTrouble(was) || was.Reason != is.Reason):
		recorder.Eventf(mc, nil, corev1.EventTypeWarning, is.Reason, "Probe", "%s", report.Note(is.Message))
	case is != nil && is.Status == metav1.ConditionTrue && inTrouble(was):
		recorder.Eventf(mc, nil, corev1.EventTypeNormal, "Recovered", "Probe", "%s", report.Note("the member is ready again: "+is.Message))
	}
}

// inTrouble reports whether a condition Ready needs the attention of a person. A member that is being unjoined, or whose
// collector is starting, is not Ready, but works as usual.
func inTrouble(ready *metav1.Condition) bool {
	return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason != v1alpha1.ReasonLeaving && ready.Reason != v1alpha1.ReasonCollectorStarting
}
