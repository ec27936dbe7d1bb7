// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// A client that follows a 307 would send method, body and token to another server, and the answer of that server could
// become a message in the status.
func TestRequestsToAMemberFollowNoRedirect(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	conn := connected(t, &rest.Config{Host: server.URL, BearerToken: "secret", QPS: -1})
	path := "/api/v1/namespaces/shop/configmaps/a"
	for verb, request := range map[string]*rest.Request{
		"get": conn.REST().Get().AbsPath(path), "delete": conn.REST().Delete().AbsPath(path),
		"apply": conn.REST().Patch("application/apply-patch+yaml").AbsPath(path).Body([]byte("{}")),
	} {
		refused := (*redirect.Error)(nil)
		if _, err := Do(t.Context(), request, false); !errors.As(err, &refused) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if _, err := conn.REST().Get().AbsPath("/api/v1/configmaps").Param("watch", "1").Stream(t.Context()); err == nil {
		t.Error("a watch is opened elsewhere")
	}
	is := conn.prober.probe(t.Context(), thisHost, ProbeResult{}, now)
	if is.Reachable || is.Reason != v1alpha1.ReasonRedirected || !strings.Contains(is.Message, "spec.endpoint") || strings.Contains(is.Message, "secret") {
		t.Errorf("%+v", is)
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}
