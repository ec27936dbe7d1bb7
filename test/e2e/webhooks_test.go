// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// validate registers a webhook on the cluster until the end of the spec. For each request, the webhook calls refusal, which returns
// the message with which it refuses the request; "" to allow it. The context ends when the API server does not wait any more, and at
// the end of the spec.
func (c *TestCluster) validate(ctx context.Context, webhook *admissionregistrationv1.ValidatingWebhook, refusal func(ctx context.Context) string) {
	GinkgoHelper()
	ended, end := context.WithCancel(context.Background())
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		asked, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ended, cancel)()
		message := refusal(asked)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: message == "", Result: &metav1.Status{Message: message}}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // the API server reports an answer that it cannot read
	}))
	DeferCleanup(func() {
		end()
		server.Close()
	})
	webhook.ClientConfig = admissionregistrationv1.WebhookClientConfig{
		URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	webhook.SideEffects, webhook.AdmissionReviewVersions = ptr.To(admissionregistrationv1.SideEffectClassNone), []string{"v1"}
	c.create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: unique("e2e")}, Webhooks: []admissionregistrationv1.ValidatingWebhook{*webhook}})
}

// hang makes the cluster's API server answer no write of these objects in a namespace until the spec ends, or until the webhook that
// the API server waits for has taken this many seconds. The API server then refuses the write.
func (c *TestCluster) hang(ctx context.Context, group, version, resource, namespace string, seconds int32) {
	GinkgoHelper()
	c.validate(ctx, &admissionregistrationv1.ValidatingWebhook{
		Name: "hangs.example.com", TimeoutSeconds: &seconds,
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}}}},
	}, func(ctx context.Context) string {
		<-ctx.Done()
		return ""
	})
}
