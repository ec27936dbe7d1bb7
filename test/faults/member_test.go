// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// daily are the misbehaviors that a short run tries. CRASH=all tries all of them.
var daily = []string{"never answers", "breaks off every answer in the middle", "answers 503", "answers another kind", "sends lists without an end",
	"sends false discovery"}

// A member that misbehaves in any way must not change the calls to the other members. The member itself is served once
// it behaves again.
func TestAMemberThatMisbehavesCostsOnlyItself(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	names := daily
	if all {
		names = slices.Sorted(maps.Keys(misbehaviors))
	}
	l := born(t, manager, f.manager, end{})
	defer l.kill()

	needed := 0
	for range 2 { // during the first one the manager still starts
		well := f.newAuthor(t)
		f.proxies["west"].count()
		well.write(first)
		well.rest([]*desiredState{first})
		needed = len(f.proxies["west"].counted())
	}

	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			east, bad := f.proxies["east"], misbehaviors[name]
			east.misbehavior.Store(&bad)
			defer east.misbehavior.Store(nil)
			east.server.CloseClientConnections() // otherwise open watches would go on
			a := f.newAuthor(t)
			f.proxies["west"].count()
			a.write(first)
			a.eventually(t, "the other is served", func(ctx context.Context) string { return a.served(ctx, "west") })
			if got := len(f.proxies["west"].counted()); got != needed {
				t.Errorf("%d calls, and %d when all are well: %v", got, needed, f.proxies["west"].counted())
			}
			changed := &desiredState{objects: map[string]string{"a": "2", "b": "1"}, members: both}
			a.write(changed)
			a.eventually(t, "the other is served again", func(ctx context.Context) string { return a.served(ctx, "west") })
			var heap runtime.MemStats
			runtime.ReadMemStats(&heap)
			if heap.HeapInuse > 512<<20 {
				t.Errorf("%d MiB of heap are in use", heap.HeapInuse>>20)
			}

			east.misbehavior.Store(nil)
			a.rest([]*desiredState{first, changed})
			a.write(nil)
			a.rest([]*desiredState{first, changed, nil})
		})
	}
}

// The first member that a manager connects to lies about every kind's resource and scope. The manager must not use that
// for other members, neither when it pushes nor when it removes.
func TestFalseDiscoveryOfAMemberDoesNotAffectOthers(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	for _, liar := range members { // the manager may connect to either one first
		liar := f.proxies[liar]
		lies := misbehaviors["sends false discovery"]
		liar.misbehavior.Store(&lies)
		l := born(t, manager, f.manager, end{})
		a := f.newAuthor(t)
		a.write(first)
		a.rest([]*desiredState{first})
		a.write(nil)
		a.rest([]*desiredState{first, nil})
		l.kill()
		liar.misbehavior.Store(nil)
	}
}

// served returns "" if a member's line is Healthy for the present generation.
func (a *author) served(ctx context.Context, member string) string {
	w := a.wrapper()
	if err := a.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
		return err.Error()
	}
	held, err := a.look(ctx)
	if err != nil {
		return err.Error()
	}
	want := make([]string, 0, len(w.Spec.Objects))
	for _, line := range w.Status.Clusters {
		if line.Name == member && (line.State != v1alpha1.StateHealthy || w.Status.ObservedGeneration != w.Generation) {
			return fmt.Sprintf("%s says %s %s %s", member, line.State, line.Reason, line.Message)
		}
	}
	for name := range a.last.objects {
		want = append(want, name+"="+a.last.objects[name]+" of "+a.last.of())
	}
	slices.Sort(want)
	return cmp.Diff(want, held[member].Objects)
}
