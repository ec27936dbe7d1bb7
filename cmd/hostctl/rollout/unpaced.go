// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
)

// describeUnpaced sets the progress of a wrapper without a rollout, from its condition Ready.
func (t *Target) describeUnpaced(p *progress, w v1alpha1.Wrapper) {
	status := w.WrapperStatus()
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	switch {
	case w.GetDeletionTimestamp() != nil:
		p.Message = errDeleted.Error()
		return
	case ready == nil || status.ObservedGeneration != w.GetGeneration():
		p.Message = notActedYet
		return
	}
	p.Revision, p.Ready, p.Since, p.Message = status.UpdateRevision, ready.Status, ready.LastTransitionTime, ready.Message
	if ready.Status != metav1.ConditionTrue {
		p.WaitingFor = ready.Reason
	}
	p.stalled = meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled)
	p.WaitsForPerson = p.stalled || p.membersWait(status)
}

// unpacedSentence returns the sentence for a wrapper without a rollout. The method sentence calls it.
func (p *progress) unpacedSentence(now time.Time) string {
	words := fmt.Sprintf("%s has no rollout, so its clusters change together; Ready is %s", p.Wrapper, p.Ready)
	if !p.Since.IsZero() && !now.IsZero() {
		words += " since " + screen.Age(now, p.Since)
	}
	words += ": " + p.Message
	if p.WaitingFor != "" {
		words += " (" + p.WaitingFor + ")"
	}
	return words
}
