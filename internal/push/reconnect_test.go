// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// After a failed list, the reflector waits for its backoff. A successful probe must make it list at once.
func TestTheIndexListsTheDeliveriesAgainAfterAnOutage(t *testing.T) {
	var lists atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush() //nolint:forcetypeassert // every response of httptest is one
			<-r.Context().Done()
			return
		}
		lists.Add(1)
		_, _ = fmt.Fprint(w, `{"kind":"DeliveryList","metadata":{"resourceVersion":"1"}}`) // if the write fails, so does the test
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	conn, err := member.Connect("east", &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	store := deliveries.NewStore(clock.RealClock{})
	p := New(member.NewFleet(member.Host{}, clock.RealClock{}), store, clock.RealClock{}, Host{}, func(Key) {})
	if err := p.Engage(t.Context(), "east", conn); err != nil {
		t.Fatal(err)
	}
	await := func(what string, is func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	await("the first list", func() bool { return store.Record(web, "east").Listed })
	p.probed("east", usable, usable)
	p.probed("east", usable, lostIt)
	p.probed("east", lostIt, usable)
	await("another list", func() bool { return lists.Load() == 2 })
}
