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

// A member that disconnects in the middle of every push costs the others no call. The test decides when it disconnects, because with a
// clock the moment would depend on the load of the machine.
func TestAMemberThatComesAndGoesCostsOnlyItself(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	l := born(t, manager, f.manager, end{})
	defer l.kill()
	east, west, a := f.proxies["east"], f.proxies["west"], f.newAuthor(t)
	states := []*desiredState{first}
	a.write(first)
	a.rest(states)
	// change pushes a change of a to west, and returns the number of calls about objects. It does not count calls about the Delivery:
	// host and collector both write it, and the second of them has to read and write again.
	change := func() int {
		t.Helper()
		w := &desiredState{objects: map[string]string{"a": fmt.Sprint(len(states) + 1), "b": "1", "c": "1"}, members: both}
		states = append(states, w)
		west.count()
		a.write(w)
		a.eventually(t, "the other is served", func(ctx context.Context) string { return a.served(ctx, "west") })
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
			t.Errorf("round %d, it is %s: %d calls, and %d when all are well: %v", round, is, got, needed, west.counted())
		}
	}
	east.misbehavior.Store(nil)
	a.rest(states)
	a.write(nil)
	a.rest(states, []*desiredState{nil})
}
