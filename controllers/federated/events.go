// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
)

// boundedRecorder records events whose notes the API server takes. All events of this package go through it.
type boundedRecorder struct{ events.EventRecorder }

// Eventf implements events.EventRecorder. Related may be nil.
func (r boundedRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", report.Note(fmt.Sprintf(note, args...)))
}

// tell makes an event of a change that a person wants to find later: trouble that begins or takes
// another turn, and its end. When all goes well there is none.
func (p *pass) tell(before, after *v1alpha1.WrapperStatus) {
	was := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	switch {
	case is == nil || p.wrapper.GetDeletionTimestamp() != nil:
	case is.Status == metav1.ConditionTrue:
		if was != nil && was.Status == metav1.ConditionFalse && inTrouble(before, was) {
			p.events.Eventf(p.wrapper, nil, corev1.EventTypeNormal, "Recovered", "Report", "ready again: %s", is.Message)
		}
	case inTrouble(after, is) && (was == nil || was.Reason != is.Reason || !inTrouble(before, was)):
		p.events.Eventf(p.wrapper, nil, corev1.EventTypeWarning, is.Reason, "Report", "%s", is.Message)
	}
}

// tellKept makes an event for each member on which something was left on purpose: it is out of care from then
// on, and nothing else says that it is there.
func (p *pass) tellKept() {
	for name, kept := range p.pusher.TakeKept(p.key) {
		p.events.Eventf(p.wrapper, nil, corev1.EventTypeNormal, v1alpha1.ReasonKept, "Remove",
			"left on member %s: %s", name, strings.Join(kept, "; "))
	}
}

// inTrouble says whether a member fares badly, or a removal waits that may be a slip.
func inTrouble(s *v1alpha1.WrapperStatus, ready *metav1.Condition) bool {
	if ready.Reason == v1alpha1.ReasonRemovalNeedsApproval {
		return true
	}
	c := s.Counts
	for _, n := range []*int32{c.Degraded, c.Stalled, c.Unreachable} {
		if n != nil && *n > 0 {
			return true
		}
	}
	return false
}
