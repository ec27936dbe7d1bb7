// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// The clock of the user's machine is an hour behind the host's clock. The connection must return the host's time.
func TestTheTimeIsThatOfTheHostsAPIServer(t *testing.T) {
	const ahead = time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte(`{"gitVersion": "v1.36.3"}`))
	}))
	t.Cleanup(server.Close)
	c, err := connect(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.discovery.ServerVersion(); err != nil {
		t.Fatal(err)
	}
	if got := time.Until(c.now()); got < ahead-time.Minute || got > ahead+time.Minute {
		t.Errorf("the time is %s ahead of ours, want %s", got, ahead)
	}

	s := well(time.Now().Add(ahead))
	s.judge(c.now())
	if !s.Healthy {
		t.Errorf("a leader that has just renewed its lease: %v", s.Problems)
	}
	s = well(time.Now().Add(ahead - 2*time.Minute))
	s.judge(c.now())
	if s.Healthy {
		t.Error("the status is healthy although the leader stopped two minutes ago")
	}
}

// The kubeconfig of an installation has the rights of an administrator, so its credentials must not follow a redirect.
func TestAnInstallationFollowsNoRedirect(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	var agent atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		agent.Store(req.UserAgent())
		http.Redirect(w, req, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	c, err := connect(&rest.Config{Host: server.URL, BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.discovery.ServerVersion()
	if refused := (*redirect.Error)(nil); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
	if got, _ := agent.Load().(string); !strings.HasPrefix(got, "hostctl/") {
		t.Errorf("the requests come from %q, want hostctl", got)
	}
}
