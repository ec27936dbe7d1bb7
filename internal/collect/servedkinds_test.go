// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

func TestAChangedCRDQueuesItsGroupIfAKindIsMissing(t *testing.T) {
	looks := newTestLooks(t)
	clk := clocktesting.NewFakeClock(time.Now())
	f, cache, groups := newFacts(nil, looks), objectcache.New(), newQueue(clk, time.Second)
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
	o := &objects{looks: looks, watchesChanged: make(chan struct{}, 1), groups: groups}
	for _, r := range cache.Keep([]schema.GroupResource{{Group: "gone.example.com", Resource: "things"}}) {
		o.lose(r, boundedwatch.ErrNotServed)
		check("one list was answered with 404")
		o.lose(r, boundedwatch.ErrNotServed)
		check("two lists were answered with 404")
		waitFor(t, 10*time.Second, func() string { // the queue's goroutine takes the group at some moment
			clk.Step(askAgain)
			if groups.Len() == 0 {
				return "the group is not queued"
			}
			return ""
		})
		check("some seconds later", "gone.example.com")
		o.lose(r, boundedwatch.ErrNotServed)
		clk.Step(2 * askAgain)
		check("the watch was tried again")
	}
	k.watchAPIServices().Put(metadataOf("v1.gone.example.com")[0])
	check("an APIService of the group", "gone.example.com")
	k.watchAPIServices().Replace(nil, "3")
	check("a list of APIServices", "gone.example.com")
	if !isSignaled(f.changed) {
		t.Error("the heartbeat got no signal to write the facts")
	}
}

// A CRD's last event can come before the API server serves the CRD's objects. Nothing else announces that it serves them.
func TestAResourceThatIsServedLateIsWatched(t *testing.T) {
	m := newMember(t)
	late := schema.GroupVersionResource{Group: m.namespace + ".example.com", Version: "v1", Resource: "gauges"}
	crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", late.GroupResource().String())
	crd.Object["spec"] = map[string]any{
		"group": late.Group, "scope": "Namespaced",
		"names": map[string]any{"kind": "Gauge", "listKind": "GaugeList", "plural": "gauges", "singular": "gauge"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}},
	}
	if _, err := m.client.Resource(crdsGVR).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, 30*time.Second, func() string {
		if _, err := m.client.Resource(late).Namespace(m.namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	entry := m.push(late, object(late.GroupVersion().String(), "Gauge", m.namespace, "g"))

	var serves atomic.Bool
	c := m.collect(func(o *Options) {
		o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if !serves.Load() && strings.HasPrefix(r.URL.Path, "/apis/"+late.Group) {
					r = r.Clone(r.Context())
					r.URL.Path = "/apis/absent.example.com" // the API server answers with 404
				}
				return next.RoundTrip(r)
			})
		})
	})
	// While another kind is missing, the watch of APIServices runs already, and so lists nothing when this one is found missing.
	missing := v1alpha1.InventoryEntry{Group: "missing.example.com", Kind: "Missing", Name: "m", State: v1alpha1.EntryApplied}
	m.deliver("r1", missing)
	waitFor(t, 30*time.Second, func() string {
		if len(c.watches.index.AwaitedKinds()) == 0 {
			return "the collector does not wait for the missing kind"
		}
		return ""
	})
	m.deliver("r1", missing, entry)
	waitFor(t, 30*time.Second, func() string {
		if len(c.objects.cache.Unserved()) == 0 {
			return "the collector has not found that the resource is not served"
		}
		return ""
	})
	serves.Store(true)
	waitFor(t, time.Minute, func() string {
		if unserved := c.objects.cache.Unserved(); len(unserved) > 0 {
			return "the collector still takes the resource as not served"
		}
		return ""
	})
}
