// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

var deliveriesGVR = v1alpha1.GroupVersion.WithResource("deliveries")

func TestACollectorFollowsNoRedirect(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	clk := clock.RealClock{}
	c, err := New(&rest.Config{Host: server.URL, BearerToken: "secret"}, nil, nil, clk, inflight.New(clk, 0))
	if err != nil {
		t.Fatal(err)
	}
	refused := (*redirect.Error)(nil)
	if _, err := c.Read(t.Context(), deliveriesGVR, "n", "d"); !errors.As(err, &refused) {
		t.Errorf("reading: %v", err)
	}
	if _, err := c.ReadMetadata(t.Context(), deliveriesGVR, "n", "d"); !errors.As(err, &refused) {
		t.Errorf("reading metadata: %v", err)
	}
	if err := c.Dynamic.Resource(deliveriesGVR).Namespace("n").Delete(t.Context(), "d", metav1.DeleteOptions{}); !errors.As(err, &refused) {
		t.Errorf("writing: %v", err)
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}
