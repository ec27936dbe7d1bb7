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

// daily are the misbehaviors that a run without CRASH=all tries.
var daily = []string{"never answers", "breaks off every answer in the middle", "answers 503", "answers another kind", "sends lists without an end",
	"sends false discovery"}

// While one member misbehaves, the manager must send the other member exactly as many calls as usual. Once the first member
// behaves well, the manager must serve it again.
func TestAMemberThatMisbehavesCostsOnlyItself(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	names := daily
	if all {
		names = slices.Sorted(maps.Keys(misbehaviors))
	}
	l := born(t, manager, f.manager, end{})
	defer l.kill()

	needed := 0
	for range 2 { // the first round does not count: the manager is still starting
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
			east.server.CloseClientConnections() // a watch that is already open would bypass the misbehavior
			a := f.newAuthor(t)
			f.proxies["west"].count()
			a.write(first)
			a.eventually(t, "member west is served", func(ctx context.Context) string { return a.served(ctx, "west") })
			if got := len(f.proxies["west"].counted()); got != needed {
				t.Errorf("%d calls to west, want %d as when both members behave well: %v", got, needed, f.proxies["west"].counted())
			}
			changed := &desiredState{objects: map[string]string{"a": "2", "b": "1"}, members: both}
			a.write(changed)
			a.eventually(t, "member west is served again", func(ctx context.Context) string { return a.served(ctx, "west") })
			var heap runtime.MemStats
			runtime.ReadMemStats(&heap)
			if heap.HeapInuse > 512<<20 {
				t.Errorf("%d MiB of heap are in use, want at most 512", heap.HeapInuse>>20)
			}

			east.misbehavior.Store(nil)
			a.rest([]*desiredState{first, changed})
			a.write(nil)
			a.rest([]*desiredState{first, changed, nil})
		})
	}
}

// One member returns a false resource and a false scope for every kind, and the manager connects to that member first. The
// manager must not use these values for other members, neither in a push nor in a removal.
func TestFalseDiscoveryOfAMemberDoesNotAffectOthers(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	for _, liar := range members { // the manager connects first to one of the two, and the test does not know to which
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

// served returns "" if the member has the wrapper's objects, and the wrapper's line for the member is Healthy at the
// present generation.
func (a *author) served(ctx context.Context, member string) string {
	w := a.wrapper()
	if err := a.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
		return err.Error()
	}
	held, err := a.look(ctx)
	if err != nil {
		return err.Error()
	}
	i := slices.IndexFunc(w.Status.Clusters, func(line v1alpha1.ClusterStatus) bool { return line.Name == member })
	if i < 0 {
		return fmt.Sprintf("the status has no line of member %s", member)
	}
	if line := w.Status.Clusters[i]; line.State != v1alpha1.StateHealthy || w.Status.ObservedGeneration != w.Generation {
		return fmt.Sprintf("the line of member %s has %s %s %s", member, line.State, line.Reason, line.Message)
	}
	want := make([]string, 0, len(a.last.objects))
	for name := range a.last.objects {
		want = append(want, name+"="+a.last.objects[name]+" of "+a.last.of())
	}
	slices.Sort(want)
	return cmp.Diff(want, held[member].Objects)
}
