// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// A member that disconnects in the middle of every push must not cost the other member a single call. The test disconnects
// the member at a fixed call. If it did so after a fixed time, the load of the machine would decide how far the push gets.
func TestAMemberThatComesAndGoesCostsOnlyItself(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	l := born(t, manager, f.manager, end{})
	defer l.kill()
	east, west, a := f.proxies["east"], f.proxies["west"], f.newAuthor(t)
	states := []*desiredState{first}
	a.write(first)
	a.rest(states)
	// change changes object a of the wrapper, waits until west has the change, and returns the number of calls to west. Calls
	// about the Delivery do not count: the manager and the collector both write it, and after a conflict one of them
	// reads and writes it again.
	change := func() int {
		t.Helper()
		w := &desiredState{objects: map[string]string{"a": fmt.Sprint(len(states) + 1), "b": "1", "c": "1"}, members: both}
		states = append(states, w)
		west.count()
		a.write(w)
		a.eventually(t, "member west is served", func(ctx context.Context) string { return a.served(ctx, "west") })
		return len(slices.DeleteFunc(west.counted(), func(call string) bool { return strings.Contains(call, "/deliveries/") }))
	}
	needed := 0
	for range 2 {
		needed = change()
		a.rest(states)
	}

	var gone misbehavior = func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
	for round := range 6 {
		is, misbehavior := "gone", &gone
		if round%2 == 1 {
			is, misbehavior = "there", nil
		}
		east.misbehavior.Store(misbehavior)
		east.server.CloseClientConnections()
		if got := change(); got != needed {
			t.Errorf("round %d, east is %s: %d calls to west, want %d as with both members connected: %v", round, is, got, needed, west.counted())
		}
	}
	east.misbehavior.Store(nil)
	a.rest(states)
	a.write(nil)
	a.rest(states, []*desiredState{nil})
}
