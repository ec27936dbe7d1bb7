// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/redirect"
)

func TestACollectorIsSentNowhereElse(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	c, err := New(Options{Config: &rest.Config{Host: server.URL, BearerToken: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	refused := (*redirect.Error)(nil)
	if _, err := c.clients.read(t.Context(), deliveriesGVR, "n", "d"); !errors.As(err, &refused) {
		t.Errorf("reading: %v", err)
	}
	if _, err := c.clients.readMetadata(t.Context(), deliveriesGVR, "n", "d"); !errors.As(err, &refused) {
		t.Errorf("reading metadata: %v", err)
	}
	if err := c.clients.dynamic.Resource(deliveriesGVR).Namespace("n").Delete(t.Context(), "d", metav1.DeleteOptions{}); !errors.As(err, &refused) {
		t.Errorf("writing: %v", err)
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}
