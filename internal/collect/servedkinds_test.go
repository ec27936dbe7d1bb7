// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

func TestAChangedCRDQueuesItsGroupIfAKindIsMissing(t *testing.T) {
	looks := newTestLooks(t)
	f, cache, groups := newFacts(nil, looks), objectcache.New(), newQueue(clock.RealClock{}, time.Second)
	defer groups.ShutDown()
	k := newServedKinds(nil, f, cache, looks, groups)
	d := &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec:       v1alpha1.DeliverySpec{Inventory: []v1alpha1.InventoryEntry{{Group: "waits.example.com", Kind: "Greeting", Name: "hello"}}},
	}
	greeting := deliveryindex.KindOf(&d.Spec.Inventory[0])
	looks.index.Learn(d, time.Now())
	asked := func() (names []string) {
		for groups.Len() > 0 {
			name, _ := groups.Get()
			groups.Done(name)
			names = append(names, name)
		}
		return names
	}
	check := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, asked()); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	w := k.watchCRDs()
	k.await(d)
	check("a Delivery waits", "waits.example.com")
	k.add(greeting)
	k.await(d)
	check("a Delivery waits for a kind that is served")
	w.Put(metadataOf("greetings.waits.example.com")[0])
	check("a CRD of the group", "waits.example.com")
	w.Put(metadataOf("others.example.com")[0])
	check("a CRD of another group")
	if !f.hasCRDOf("waits.example.com") || f.hasCRDOf("no.example.com") {
		t.Error("the facts do not have the CRDs")
	}
	w.Drop(metadataOf("greetings.waits.example.com")[0])
	check("the CRD is gone", "waits.example.com")
	if k.has(greeting) || looks.Len() != 1 || f.hasCRDOf("waits.example.com") {
		t.Errorf("after the CRD is gone, the kind is served: %v, looked at are %d", k.has(greeting), looks.Len())
	}
	w.Replace(metadataOf("others.example.com"), "2")
	check("a list of CRDs", "waits.example.com")

	// If the member no longer serves a watched resource, the collector reads the discovery of its group too.
	looks.index.Forget("d")
	for _, r := range cache.Keep([]schema.GroupResource{{Group: "gone.example.com", Resource: "things"}}) {
		r.MarkNotServed()
		r.MarkNotServed()
	}
	k.watchAPIServices().Put(metadataOf("v1.gone.example.com")[0])
	check("an APIService of the group", "gone.example.com")
	k.watchAPIServices().Replace(nil, "3")
	check("a list of APIServices", "gone.example.com")
	if !isSignaled(f.changed) {
		t.Error("the heartbeat got no signal to write the facts")
	}
}
