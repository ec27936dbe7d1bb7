// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

var expires = metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC))

func requestFor(name string, what v1alpha1.EvidenceType) v1alpha1.EvidenceRequest {
	return v1alpha1.EvidenceRequest{Group: "apps", Kind: "Deployment", Name: name, Type: what, Expires: expires}
}

func TestAnswersOfAMemberAreCleanedAndCut(t *testing.T) {
	event := v1alpha1.ObservedEvent{Kind: "Pod", Name: "web-1", Type: "Normal", Reason: "Started", Message: "begins", Count: 1, LastTime: expires}
	for name, test := range map[string]struct{ is, want []v1alpha1.EvidenceAnswer }{
		"none": {},
		"a log, with what a terminal would act on": {
			[]v1alpha1.EvidenceAnswer{{Request: requestFor("web", v1alpha1.EvidenceLogs), Evidence: v1alpha1.Evidence{Containers: []v1alpha1.ObservedContainer{container("\x1b[2Jready\n")}}}},
			[]v1alpha1.EvidenceAnswer{{Request: requestFor("web", v1alpha1.EvidenceLogs), Evidence: v1alpha1.Evidence{Containers: []v1alpha1.ObservedContainer{container("[2Jready\n")}}}},
		},
		"an answer to a request for logs has no events": {
			[]v1alpha1.EvidenceAnswer{{Request: requestFor("web", v1alpha1.EvidenceLogs), Message: "no\x1bpods", Evidence: v1alpha1.Evidence{Events: []v1alpha1.ObservedEvent{event}}}},
			[]v1alpha1.EvidenceAnswer{{Request: requestFor("web", v1alpha1.EvidenceLogs), Message: "nopods"}},
		},
		"events": {
			[]v1alpha1.EvidenceAnswer{{Request: requestFor("web", v1alpha1.EvidenceEvents), Evidence: v1alpha1.Evidence{Events: []v1alpha1.ObservedEvent{event}}}},
			[]v1alpha1.EvidenceAnswer{{Request: requestFor("web", v1alpha1.EvidenceEvents), Evidence: v1alpha1.Evidence{Events: []v1alpha1.ObservedEvent{event}}}},
		},
		"an unknown type, and no name": {[]v1alpha1.EvidenceAnswer{{Request: requestFor("web", "Secrets")}, {Request: requestFor("", v1alpha1.EvidenceLogs)}}, []v1alpha1.EvidenceAnswer{}},
	} {
		if diff := cmp.Diff(test.want, AnswersIn(&v1alpha1.Delivery{Status: v1alpha1.DeliveryStatus{Answers: test.is}})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A member may leave out the schema. The bounds hold for whatever it sends.
func TestAnswersAndRequestsOfAHostileMemberAreBounded(t *testing.T) {
	d := &v1alpha1.Delivery{}
	for i := range 100 {
		r := requestFor(fmt.Sprint(strings.Repeat("n", 10_000), i), v1alpha1.EvidenceLogs)
		d.Spec.Requests = append(d.Spec.Requests, r)
		a := v1alpha1.EvidenceAnswer{Request: r, Message: strings.Repeat("m", 100_000)}
		for range 100 {
			a.Containers = append(a.Containers, container(strings.Repeat("a log line\n", 10_000)))
			a.Events = append(a.Events, v1alpha1.ObservedEvent{Kind: "Pod", Name: "p", Type: "Normal", Reason: "x", Message: strings.Repeat("m", 10_000), Count: 1, LastTime: expires})
		}
		d.Status.Answers = append(d.Status.Answers, a)
	}
	e := newDecoded(d)
	if len(e.evidence.Requests) > evidence.MaxAnswers || len(e.evidence.Answers) > evidence.MaxAnswers {
		t.Errorf("%d requests, %d answers", len(e.evidence.Requests), len(e.evidence.Answers))
	}
	// The weight counts fixed sizes of the elements, too.
	if weight := boundedread.AnswersWeight(e.evidence.Answers); weight > evidence.MaxAllAnswers+16<<10 {
		t.Errorf("the answers have %d bytes", weight)
	}
	if e.summary.Status != nil {
		t.Errorf("answers alone are no status to remember: %+v", e.summary.Status)
	}
	for i := range e.evidence.Answers {
		logs := 0
		for _, c := range e.evidence.Answers[i].Containers {
			logs += len(c.Log)
		}
		if logs > evidence.MaxAnswerLogs {
			t.Errorf("%d bytes of logs", logs)
		}
	}
	l := &lister{}
	for range 1000 {
		listed := *e
		if l.boundEvidence(&listed); listed.evidence.Omitted {
			return
		}
	}
	t.Error("a list has no bound for answers")
}

func TestADeliveryHasFourAnswersAtMost(t *testing.T) {
	d := &v1alpha1.Delivery{}
	for i := range 100 {
		d.Spec.Requests = append(d.Spec.Requests, requestFor(fmt.Sprint(i), v1alpha1.EvidenceLogs))
		d.Status.Answers = append(d.Status.Answers, v1alpha1.EvidenceAnswer{Request: d.Spec.Requests[i]})
	}
	if e := newDecoded(d); len(e.evidence.Requests) != evidence.MaxAnswers || len(e.evidence.Answers) != evidence.MaxAnswers {
		t.Errorf("%d requests, %d answers", len(e.evidence.Requests), len(e.evidence.Answers))
	}
}

func FuzzAnswers(f *testing.F) {
	one, err := json.Marshal([]v1alpha1.EvidenceAnswer{{Request: requestFor("web", v1alpha1.EvidenceLogs), Message: "x\x1b", Evidence: v1alpha1.Evidence{Containers: []v1alpha1.ObservedContainer{container("a\n\x1bb")}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(one))
	f.Add(`[{"request":{"kind":"Pod","name":"a","type":"Events","expires":"9999-12-31T23:59:59-10:00"},"events":[{"lastTime":"9999-12-31T23:59:59-10:00"}]}]`)
	f.Fuzz(func(t *testing.T, encoded string) {
		d := &v1alpha1.Delivery{}
		if json.Unmarshal([]byte(encoded), &d.Status.Answers) != nil {
			return
		}
		kept := AnswersIn(d)
		length := 0
		for i := range kept {
			for _, c := range kept[i].Containers {
				length += len(c.Log) + len(c.PreviousLog)
			}
		}
		if len(kept) > evidence.MaxAnswers || length > evidence.MaxAllAnswers {
			t.Errorf("%d answers with %d bytes of logs", len(kept), length)
		}
		d.Status.Answers = kept
		if diff := cmp.Diff(kept, AnswersIn(d)); diff != "" && len(kept) > 0 {
			t.Errorf("bounding again changes it:\n%s", diff)
		}
		if _, err := json.Marshal(kept); err != nil {
			t.Errorf("JSON has no form for it: %v", err)
		}
	})
}
