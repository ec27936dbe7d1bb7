// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

// A collector of another vendor may redact nothing.
func TestNoSecretOfAnAnswerIsInTheStatusOfAReport(t *testing.T) {
	for _, text := range secretcorpus.Lines(t) {
		d := &v1alpha1.Delivery{}
		request := v1alpha1.EvidenceRequest{Group: "apps", Kind: "Deployment", Name: "web"}
		for _, kind := range []v1alpha1.EvidenceType{v1alpha1.EvidenceLogs, v1alpha1.EvidenceEvents} {
			request.Type = kind
			d.Status.Answers = append(d.Status.Answers, v1alpha1.EvidenceAnswer{Request: request, Message: text, Evidence: v1alpha1.Evidence{
				Events: []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Type: corev1.EventTypeWarning, Reason: "BackOff", Message: text, Count: 1,
					LastTime: metav1.Now()}},
				Containers: []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: evidence.StateRunning, Log: "starting\n" + text + "\nstopped", PreviousLog: text}}}})
		}
		answers := deliveries.AnswersIn(d)
		if len(answers) != 2 {
			t.Fatalf("%q: %d answers", text, len(answers))
		}
		for i := range answers {
			patch, err := statusPatch(&report{spec: &v1alpha1.MemberReport{}}, outcome{Problem: rules.Problem{Message: answers[i].Message}, answer: &answers[i]})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(patch), secretcorpus.Word) || !strings.Contains(string(patch), "web-1") {
				t.Errorf("%q: %s", text, patch)
			}
		}
	}
}
