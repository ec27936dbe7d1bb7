// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// A fleet has thousands of wrappers, so each write to the host for one wrapper counts. No webhook runs in this test, so the
// manager itself adds the finalizer, which is the first of the calls.
func TestAWrapperCostsTheHostThreeWrites(t *testing.T) {
	f, clk := newFleet(t, v1alpha1.CollectorHost), newRunning(t)
	l := born(t, managerBy(clk), f.manager, end{})
	defer l.kill()
	a := f.newAuthor(t)
	ready := &desiredState{objects: map[string]string{"a": "0"}, members: both}
	a.write(ready) // this wrapper makes the manager start its work and discover the kind on the members
	a.rest([]*desiredState{ready})
	a.write(nil)
	a.rest([]*desiredState{ready, nil})

	// The manager writes an intermediate status if work is still unfinished after a second. The clock stands still here, so
	// the manager writes no intermediate status, however slow the machine is.
	clk.freeze(true)
	defer clk.freeze(false)
	var (
		finalizer = "PATCH federateds/web"
		revision  = "POST controllerrevisions"
		status    = "PATCH federateds/web/status"
		isCRD     = "GET customresourcedefinitions/federateds.federation.fairlead.dev"
	)
	history := []*desiredState{ready, nil}
	for _, step := range []struct {
		what         string
		desiredState *desiredState
		want         []string
	}{
		{"is created", &desiredState{objects: map[string]string{"a": "1"}, members: both}, []string{finalizer, revision, status, status}},
		{"is changed", &desiredState{objects: map[string]string{"a": "2"}, members: both}, []string{revision, status}},
		{"is deleted", nil, []string{isCRD, finalizer}},
	} {
		l.count(end{})
		a.write(step.desiredState)
		history = append(history, step.desiredState)
		a.rest(history)
		got := onHost(l.calls())
		if step.desiredState == nil {
			// The manager's cache may still have the deleted wrapper. Then the manager reconciles the wrapper once more. That
			// reconcile only repeats a read.
			got = slices.Compact(got)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("calls to the host when a wrapper %s (-want +got):\n%s", step.what, diff)
		}
	}
}

// onHost returns the calls to the host as "VERB RESOURCE…" in their order, and cuts out namespace and name of the object.
func onHost(calls []string) []string {
	var found []string
	for _, call := range calls {
		verb, path, _ := strings.Cut(call, " ")
		for _, resource := range []string{"federateds", "memberclusters", "controllerrevisions", "customresourcedefinitions", "events", "approvals"} {
			if i := strings.Index(path+"/", "/"+resource+"/"); i >= 0 {
				found = append(found, verb+" "+path[i+1:])
				break
			}
		}
	}
	return found
}
