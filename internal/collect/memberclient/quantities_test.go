// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// A client of client-go decodes the kind that an answer names, also in the body of an error. Here the answer names a
// Pod, and parsing the quantity in it would take longer than a test may run.
func TestACollectorParsesNoQuantityOfAPodInsteadOfADocument(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusConflict} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1","spec":{"overhead":{"cpu":"1e-2000000000"}}}`)) // if it cannot be sent, the client fails
		}))
		t.Cleanup(server.Close)
		clk := clock.RealClock{}
		c, err := New(&rest.Config{Host: server.URL}, nil, nil, clk, inflight.New(clk, 0))
		if err != nil {
			t.Fatal(err)
		}
		gk := schema.GroupKind{Group: "shop.example.com", Kind: "Crate"}
		if is, err := c.ServesKind(t.Context(), gk); is || code != http.StatusOK && err == nil {
			t.Errorf("with %d: %v, %v", code, is, err)
		}
		if _, err := c.Read(t.Context(), deliveriesGVR, "n", "d"); code != http.StatusOK && err == nil {
			t.Errorf("reading with %d", code)
		}
		if _, err := c.ReadMetadata(t.Context(), deliveriesGVR, "n", "d"); code != http.StatusOK && err == nil {
			t.Errorf("reading metadata with %d", code)
		}
	}
}
