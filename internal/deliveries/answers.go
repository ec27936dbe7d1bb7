// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// AnswersIn returns a copy of the answers in a Delivery. The copy fits the schema of a MemberReport, and its texts are clean (see
// boundEvidence). AnswersIn leaves out invalid answers, and everything that exceeds evidence.MaxAllAnswers bytes in total.
func AnswersIn(d *v1alpha1.Delivery) []v1alpha1.EvidenceAnswer {
	is := d.Status.Answers
	if len(is) == 0 {
		return nil
	}
	room := room(evidence.MaxAllAnswers)
	kept := make([]v1alpha1.EvidenceAnswer, 0, min(len(is), evidence.MaxAnswers))
	for i := range is[:min(len(is), evidence.MaxAnswers)] {
		a := v1alpha1.EvidenceAnswer{Request: boundRequest(&is[i].Request), Message: health.Clean(is[i].Message, maxMessage)}
		if a.Request.Kind == "" || a.Request.Name == "" || !room.take(a.Request.Group, a.Request.Kind, a.Request.Name, a.Message) {
			continue
		}
		switch a.Request.Type {
		case v1alpha1.EvidenceLogs:
			a.Containers = room.containers(is[i].Containers[:min(len(is[i].Containers), evidence.MaxContainers)], evidence.MaxAnswerLogs)
		case v1alpha1.EvidenceEvents:
			a.Events = room.events(is[i].Events[max(0, len(is[i].Events)-evidence.MaxEvents):])
		default:
			continue
		}
		kept = append(kept, a)
	}
	return kept
}

// boundRequests returns a copy of the requests in a Delivery, cut to the limits of the schema.
func boundRequests(is []v1alpha1.EvidenceRequest) []v1alpha1.EvidenceRequest {
	if len(is) == 0 {
		return nil
	}
	kept := make([]v1alpha1.EvidenceRequest, 0, min(len(is), evidence.MaxAnswers))
	for i := range is[:min(len(is), evidence.MaxAnswers)] {
		kept = append(kept, boundRequest(&is[i]))
	}
	return kept
}

func boundRequest(is *v1alpha1.EvidenceRequest) v1alpha1.EvidenceRequest {
	return v1alpha1.EvidenceRequest{Group: health.Clean(is.Group, maxName), Kind: health.Clean(is.Kind, evidence.MaxKind), Name: health.Clean(is.Name, maxName),
		Type: v1alpha1.EvidenceType(cut(string(is.Type), maxName)), SinceSeconds: is.SinceSeconds, Expires: metav1.NewTime(is.Expires.UTC())}
}
