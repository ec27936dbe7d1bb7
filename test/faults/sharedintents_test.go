// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Each scenario begins with a wrapper that has made the namespace on east: a pair that has to make its namespace writes
// its own Delivery. Then come three new wrappers. The passes of the first are under way when the others come, so these share
// the write of their intents.
var (
	base      = &desiredState{wrapper: "base", objects: map[string]string{"base": "1"}, members: east}
	firstNew  = &desiredState{wrapper: other, objects: map[string]string{"x": "1"}, members: east}
	secondNew = &desiredState{wrapper: "db", objects: map[string]string{"y": "1"}, members: east}
	thirdNew  = &desiredState{objects: two, members: east}
	newOnes   = []*desiredState{firstNew, secondNew, thirdNew}
	// burst are so many wrappers that the manager also waits for more.
	burst = slices.Concat(numbered(8), []*desiredState{thirdNew})
)

// numbered returns states of this many wrappers with one object each.
func numbered(n int) []*desiredState {
	var states []*desiredState
	for i := range n {
		states = append(states, &desiredState{wrapper: fmt.Sprintf("w%d", i), objects: map[string]string{fmt.Sprintf("o%d", i): "1"}, members: east})
	}
	return states
}

// sharedIntents kill the manager while new wrappers share the write of their intents. Then the author changes wrapper web.
var sharedIntents = map[string]scenario{
	"then no change follows": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true,
	},
	"then an object is dropped": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true,
		dead: []*desiredState{{objects: map[string]string{"b": "2"}, members: east}},
	},
	"then an object is renamed": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true,
		dead: []*desiredState{{objects: map[string]string{"a": "1", "c": "1"}, members: east}},
	},
	"then an object is moved to another wrapper": {
		before: []*desiredState{base}, during: newOnes, shares: true, patient: true,
		dead: []*desiredState{{objects: one, members: east}, {wrapper: "cache", objects: map[string]string{"b": "1"}, members: east}},
	},
	"then the wrapper leaves a member": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true,
		dead: []*desiredState{{objects: two, members: west}},
	},
	"then the wrapper leaves a member with KeepAll, and comes back in a later revision with DeleteAll": {
		before: []*desiredState{base}, shares: true,
		during: []*desiredState{firstNew, secondNew, {objects: two, members: east, onDelete: v1alpha1.KeepAll}},
		dead:   []*desiredState{{objects: two, members: west, onDelete: v1alpha1.KeepAll}}, steady: true,
		stays: ofWebOnEast,
		later: []*desiredState{{objects: map[string]string{"a": "3"}, members: east, onDelete: v1alpha1.DeleteAll}},
		staysLater: func(death fleetState) fleetState {
			kept := slices.DeleteFunc(ofWebOnEast(death)["east"].Objects, func(o string) bool { return strings.HasPrefix(o, "a=") })
			return fleetState{"east": {Objects: kept}}
		},
	},
	"then the wrapper is deleted": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true,
		dead: []*desiredState{nil},
	},
	"in a burst, and then an object is dropped": {
		before: []*desiredState{base}, during: burst, shares: true, steady: true,
		dead: []*desiredState{{objects: one, members: east}},
	},
	"then the wrapper is deleted in the foreground": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, foreground: true,
		dead: []*desiredState{nil},
	},
	"then the wrapper is made again": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, unmadeDead: true,
		dead: []*desiredState{thirdNew},
	},
	"then the wrapper is made again without an object": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, unmadeDead: true,
		dead: []*desiredState{{objects: one, members: east}},
	},
	"then a claim is dropped": {
		before: []*desiredState{base}, shares: true, steady: true,
		during: []*desiredState{firstNew, secondNew, {objects: one, claims: []string{"data"}, members: east}},
		dead:   []*desiredState{{objects: one, members: east}},
		stays: func(death fleetState) fleetState {
			if slices.Contains(death["east"].Objects, "claim data of web") {
				return fleetState{"east": {Objects: []string{"claim data of web"}}}
			}
			return nil
		},
	},
	"the members refuse the write of the record, and then an object is dropped": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, refuses: refusesRecords,
		dead: []*desiredState{{objects: map[string]string{"b": "1"}, members: east}},
	},
	"the next manager leads while a request of the dead one is still on its way": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, late: true,
		dead: []*desiredState{{objects: map[string]string{"a": "3"}, members: east}},
	},
	"the next manager leads while a request of the dead one is still on its way, and the wrapper is moved to another member": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, late: true,
		dead: []*desiredState{{objects: two, members: west}},
	},
	"a member is unreachable while an object is dropped": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, away: true,
		dead: []*desiredState{{objects: map[string]string{"a": "3"}, members: both}},
	},
	"the host is restored from a backup that is older than the wrapper": {
		before: []*desiredState{base}, during: newOnes, shares: true, steady: true, restored: true,
		dead: []*desiredState{{wrapper: "cache", objects: map[string]string{"c": "1"}, members: east}},
		stays: func(death fleetState) fleetState {
			var is holding
			for _, o := range death["east"].Objects {
				if name, of, _ := strings.Cut(o, " of "); of != base.wrapper {
					is.Objects = append(is.Objects, name+ofGone)
				}
			}
			for _, entry := range death["east"].Entries {
				if !strings.HasPrefix(entry, base.wrapper+"/") {
					is.Entries = append(is.Entries, entry+ofGone)
				}
			}
			return fleetState{"east": is}
		},
	},
}

// ofWebOnEast returns the objects of wrapper web that east had at the death.
func ofWebOnEast(death fleetState) fleetState {
	var is holding
	for _, o := range death["east"].Objects {
		if strings.HasSuffix(o, " of "+web) {
			is.Objects = append(is.Objects, o)
		}
	}
	return fleetState{"east": is}
}

// heldPass lets the new wrappers of a scenario share the write of their intents, however slow the machine is. It holds the pass of the first
// wrapper, and the manager's clock stands still, until all others wait. The clock goes on when the first pass has ended.
type heldPass struct {
	t           *testing.T
	clk         *runningClock
	one         sync.Once
	began, over chan struct{}
}

func newHeldPass(t *testing.T) *heldPass {
	t.Helper()
	h := &heldPass{t: t, clk: newRunning(t), began: make(chan struct{}), over: make(chan struct{})}
	t.Cleanup(h.end)
	return h
}

// hold delays a write of a Delivery on a member until the others wait.
func (h *heldPass) hold(ctx context.Context) {
	h.one.Do(func() { close(h.began) })
	select {
	case <-h.over:
	case <-ctx.Done():
	}
}

// awaitBegin waits until the first pass is held, or the life is dead.
func (h *heldPass) awaitBegin(l *life) {
	h.t.Helper()
	select {
	case <-h.began:
	case <-l.died:
	case <-time.After(settleWithin):
		h.t.Fatalf("no write of a Delivery within %s", settleWithin)
	}
}

// end lets the first pass go on.
func (h *heldPass) end() {
	select {
	case <-h.over:
	default:
		close(h.over)
	}
}

// letShare returns when this many wrappers share a write, or the life is dead.
func (h *heldPass) letShare(a *author, l *life, others int) {
	h.t.Helper()
	defer h.clk.freeze(false)
	a.eventually(h.t, "the other wrappers wait", func(context.Context) string {
		if n := ofEast(h.t, "fairlead_shared_intents_waiting"); int(n) != others && !l.isDead() {
			return fmt.Sprintf("%g of %d wait", n, others)
		}
		return ""
	})
	before := ofEast(h.t, "fairlead_pushes_total")
	h.end()
	a.eventually(h.t, "the first pass has ended", func(context.Context) string {
		if ofEast(h.t, "fairlead_pushes_total") == before && !l.isDead() {
			return "it goes on"
		}
		return ""
	})
}

// ofEast returns the sum of the series that a metric of the manager has for member east.
func ofEast(t *testing.T, metric string) (sum float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Error(err)
	}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "member" && label.GetValue() == "east" {
					sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

func TestTheManagerMayDieWhileNewWrappersShareTheirIntents(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	f.mortal = func(t *testing.T, e end) *life { return born(t, manager, f.manager, e) }
	f.tryAll(t, maps.Clone(sharedIntents))
}

// sharedList is the list of shared intents of a member, without contents.
func sharedList() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "intents"}}
}

// shared returns what the list of shared intents on a member has for the author's wrappers, by the wrapper's name.
func (a *author) shared(ctx context.Context, member string) (map[string]v1alpha1.DeliverySpec, error) {
	list := sharedList()
	if err := a.members[member].Get(ctx, client.ObjectKeyFromObject(list), list); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	var specs []v1alpha1.DeliverySpec
	if err := json.Unmarshal([]byte(list.Annotations["federation.fairlead.dev/intents"]), &specs); err != nil {
		return nil, err
	}
	entries := make(map[string]v1alpha1.DeliverySpec)
	for i := range specs {
		if specs[i].Wrapper.Namespace == a.shop {
			entries[specs[i].Wrapper.Name] = specs[i]
		}
	}
	return entries, nil
}

// onlyShared returns the entries of the list of shared intents for objects that the Delivery does not list.
func onlyShared(delivery *v1alpha1.DeliverySpec, shared v1alpha1.DeliverySpec, prefix string, wrappers []v1alpha1.Federated) []string {
	var entries []string
	for i := range shared.Inventory {
		name := shared.Inventory[i].Name
		if slices.ContainsFunc(delivery.Inventory, func(is v1alpha1.InventoryEntry) bool { return is.Name == name }) {
			continue
		}
		entry := prefix + name + " Pending"
		if whose(string(shared.Wrapper.UID), wrappers) == gone {
			entry += ofGone
		}
		entries = append(entries, entry)
	}
	return entries
}

// isShared reports whether wrapper web shared its intent in a run with these calls. A pass that shares creates its Delivery as the record.
// Another pass creates it as the intent, and patches it.
func isShared(calls []string) bool {
	return !slices.ContainsFunc(calls, func(call string) bool {
		return strings.HasPrefix(call, http.MethodPatch) && strings.Contains(call, "/deliveries/") && strings.HasSuffix(call, "."+web)
	})
}

// allIsListed checks that a Delivery or the list of shared intents lists each object that a wrapper of the author has on a member.
// Kept objects need no entry.
func (a *author) allIsListed() {
	a.t.Helper()
	for member, is := range a.atDeath {
		for _, object := range is.Objects {
			content, marks, hasMarks := strings.Cut(object, " of ")
			name, _, _ := strings.Cut(strings.TrimPrefix(content, "claim "), "=")
			wrapper, _, _ := strings.Cut(marks, ",")
			if !hasMarks || slices.Contains(a.kept[member].Objects, object) {
				continue
			}
			if wrapper != web && wrapper != gone {
				name = wrapper + "/" + name
			}
			if !slices.ContainsFunc(is.Entries, func(entry string) bool { return strings.HasPrefix(entry, name+" ") }) {
				a.t.Errorf("at the death, no entry listed object %q on member %s; the entries are %q", object, member, is.Entries)
			}
		}
	}
}
