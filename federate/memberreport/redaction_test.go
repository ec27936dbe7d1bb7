// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

// A person who reads MemberReports has no access to the members, and so must not see the secrets in their events and logs.
func TestNoSecretOfTheCorpusIsInTheStatusOfAReport(t *testing.T) {
	for _, text := range secretcorpus.Lines(t) {
		event := evidence.Event{Type: corev1.EventTypeWarning, Reason: "BackOff", Message: text, LastTimestamp: metav1.NewTime(now)}
		event.InvolvedObject.Kind, event.InvolvedObject.Name = "Pod", "web-1"
		container := evidence.Container{Namespace: "shop", Pod: "web-1", Name: "app", Log: "starting\n" + text + "\nstopped", PreviousLog: text}
		found := evidence.Bound([]v1alpha1.ObjectEvidence{{Group: "apps", Kind: "Deployment", Name: "web",
			Evidence: evidence.Of([]evidence.Event{event}, []evidence.Container{container})}})
		line := v1alpha1.ObjectStatus{Group: "apps", Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "CrashLoopBackOff",
			Message: "it crashes: " + health.LastWords("starting\n"+text)}
		set := newSet(&books{})
		set.Show("east", Of(web, "east", []v1alpha1.ObjectStatus{line}, found), now)
		// A report with a request has the evidence of an answer.
		asked := v1alpha1.MemberReportStatus{Evidence: evidence.BoundAnswers([]v1alpha1.EvidenceAnswer{
			{Evidence: evidence.Answer([]evidence.Event{event}, []evidence.Container{container})}})[0].Evidence}
		// A collector of another vendor may redact nothing.
		foreign := Redacted(&v1alpha1.MemberReportStatus{Message: line.Message, Evidence: v1alpha1.Evidence{
			Events:     []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Message: text}},
			Containers: []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", Log: container.Log, PreviousLog: text}}}})
		reports := set.Reports()
		if len(reports) != 1 {
			t.Fatalf("%q: %d reports", text, len(reports))
		}
		for _, status := range []v1alpha1.MemberReportStatus{reports[0].Status, asked, *foreign} {
			written, err := json.Marshal(status)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(written), secretcorpus.Word) {
				t.Errorf("%q: %s", text, written)
			}
			hasPod := slices.ContainsFunc(status.Containers, func(c v1alpha1.ObservedContainer) bool { return c.Pod == "web-1" && c.Log != "" && c.PreviousLog != "" })
			if !hasPod || len(status.Events) != 1 || status.Events[0].Name != "web-1" {
				t.Errorf("%q: evidence is missing: %s", text, written)
			}
		}
	}
}
