// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// listing returns the lister of a member that answers every request with this text.
func listing(t *testing.T, answer string) *lister {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer) // if the write fails, so does the test
	}))
	t.Cleanup(server.Close)
	conn, err := member.Connect("east", &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	return &lister{conn: conn, liveness: b.liveness, sink: b.sink}
}

// When its continue token has expired, the reflector asks for all Deliveries at once (limit 0). That answer may be as
// large as a page.
func TestAllDeliveriesAtOnceMayBeLargerThanAnObject(t *testing.T) {
	words := strings.Repeat("x", 10<<20)
	east := listing(t, `{"kind":"DeliveryList","apiVersion":"`+v1alpha1.GroupVersion.String()+
		`","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"d","annotations":{"a":"`+words+`"}}}]}`)
	for _, limit := range []int64{0, member.PageSize} {
		if _, err := east.ListWithContext(t.Context(), metav1.ListOptions{Limit: limit}); err != nil {
			t.Errorf("with limit %d: %v", limit, err)
		}
	}
}

func TestAnotherListIsNotTakenForOneOfDeliveries(t *testing.T) {
	for _, answer := range []string{`{"kind":"PodList","apiVersion":"v1","items":[]}`, `{}`, `[]`, `<html>`} {
		if list, err := listing(t, answer).ListWithContext(t.Context(), metav1.ListOptions{Limit: 1}); err == nil {
			t.Errorf("%s is read as %+v", answer, list)
		}
	}
}
