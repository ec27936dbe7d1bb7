// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// The message is about the author's object, not about the webhook.
func TestAWrapperOfAnyDepthGetsAnAnswer(t *testing.T) {
	server := webhook.NewServer(webhook.Options{})
	Register(server, nobody)
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"kind":{"group":"federation.fairlead.dev",` +
		`"version":"v1alpha1","kind":"Federated"},"uid":"u-1","operation":"CREATE","namespace":"shop","object":{"metadata":{"name":"web","uid":"u-2"},` +
		`"spec":{"objects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":%s}],"placement":{"clusters":{"names":["east"]}}}}}}`
	for name, test := range map[string]struct {
		depth int
		words string // words of the refusal; "" means accepted
	}{
		"as deep as one may be":       {98, ""},
		"a little deeper":             {100, "spec.objects[0]: Invalid value: it is nested 101 deep, 100 at most"},
		"as deep as can be read":      {8990, "spec.objects[0]: Invalid value: it is nested 8991 deep, 100 at most"},
		"deeper than Go's JSON reads": {10_000, "nested more than 9000 deep; an object, the value of a patch and a merge may be 100 deep"},
		"deeper than anything":        {1_000_000, "nested more than 9000 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			deep := strings.Repeat("[", test.depth) + strings.Repeat("]", test.depth)
			answer := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodPost, PathValidate, strings.NewReader(fmt.Sprintf(review, deep)))
			req.Header.Set("Content-Type", "application/json")
			server.WebhookMux().ServeHTTP(answer, req)
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.Response == nil {
				t.Fatalf("%d: %s (%v)", answer.Code, answer.Body, err)
			}
			if got.Response.UID != "u-1" || got.Response.Allowed != (test.words == "") {
				t.Errorf("%+v", got.Response)
			}
			if test.words != "" && !strings.Contains(got.Response.Result.Message, test.words) {
				t.Errorf("it says %s", got.Response.Result.Message)
			}
		})
	}
}

func TestWhatIsNoReviewHasNoUID(t *testing.T) {
	for _, body := range []string{"", "[", "[]", "{", `{"request":`, `{"request":[]}`, `{"request":{"uid":1}}`, `{"response":{"uid":"u"}}`, `{"a":[}`, `{"a":{"request":{"uid":"u"}}}`} {
		if uid := reviewUID([]byte(body)); uid != "" {
			t.Errorf("%s: %s", body, uid)
		}
	}
}
