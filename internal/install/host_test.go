// SPDX-License-Identifier: Apache-2.0

package install

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
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
