// SPDX-License-Identifier: Apache-2.0

package deliveryindex

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var (
	configMap    = v1alpha1.InventoryEntry{Kind: "ConfigMap", Resource: "configmaps", Name: "settings"}
	secret       = v1alpha1.InventoryEntry{Kind: "Secret", Resource: "secrets", Name: "token"}
	subscription = v1alpha1.InventoryEntry{Group: Subscriptions.Group, Kind: "Subscription", Resource: Subscriptions.Resource, Name: "op"}
	greeting     = v1alpha1.InventoryEntry{Group: "example.com", Kind: "Greeting", Name: "hello"} // the member does not serve this kind
)

// delivery returns a Delivery "d" of a wrapper in namespace shop.
func delivery(uid types.UID, generation int64, resourceVersion string, entries ...v1alpha1.InventoryEntry) *v1alpha1.Delivery {
	return &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Name: "d", UID: uid, Generation: generation, ResourceVersion: resourceVersion},
		Spec:       v1alpha1.DeliverySpec{Wrapper: v1alpha1.WrapperIdentity{Namespace: "shop"}, Inventory: entries},
	}
}

// newIndex makes an index that numbers the Deliveries: the memory of the first one is 1, of the second 2, and so on.
func newIndex() *Index[int] {
	n := 0
	return New(func() int { n++; return n })
}

func TestADeliveryIsFoundByEveryObjectThatItLists(t *testing.T) {
	x := newIndex()
	x.Learn(delivery("u", 1, "1", configMap, secret, subscription, greeting), time.Time{})
	ref := func(gr schema.GroupResource, name string) Ref {
		return Ref{GroupResource: gr, NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
	}
	configMaps := schema.GroupResource{Resource: "configmaps"}
	lookUp := func() map[string][]string {
		return map[string][]string{
			"an object":                       x.Listing(ref(configMaps, "settings")),
			"an object of another name":       x.Listing(ref(configMaps, "other")),
			"a Secret":                        x.Listing(ref(Secrets, "token")),
			"a resource":                      x.Using(configMaps),
			"Secrets, which are not watched":  x.Using(Secrets),
			"a kind that is not served":       x.WaitingFor(schema.GroupKind{Group: "example.com", Kind: "Greeting"}),
			"a kind that is served":           x.WaitingFor(schema.GroupKind{Kind: "ConfigMap"}),
			"the namespace of a Subscription": x.SubscribingIn("shop"),
			"another namespace":               x.SubscribingIn("other"),
			"all Deliveries":                  x.Names(),
		}
	}
	d := []string{"d"}
	want := map[string][]string{
		"an object": d, "an object of another name": nil, "a Secret": d, "a resource": d, "Secrets, which are not watched": nil,
		"a kind that is not served": d, "a kind that is served": nil, "the namespace of a Subscription": d, "another namespace": nil,
		"all Deliveries": d,
	}
	if diff := cmp.Diff(want, lookUp()); diff != "" {
		t.Error(diff)
	}
	resources := x.UsedResources()
	slices.SortFunc(resources, func(a, b schema.GroupResource) int { return strings.Compare(a.Resource, b.Resource) })
	if diff := cmp.Diff([]schema.GroupResource{configMaps, Subscriptions}, resources); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]schema.GroupKind{{Group: "example.com", Kind: "Greeting"}}, x.AwaitedKinds()); diff != "" {
		t.Error(diff)
	}

	x.Forget("d")
	for what, names := range lookUp() {
		if len(names) > 0 {
			t.Errorf("after it is forgotten, %s still leads to %q", what, names)
		}
	}
	if len(x.UsedResources())+len(x.AwaitedKinds())+len(x.SubscribedNamespaces()) > 0 {
		t.Error("after it is forgotten, something is still used, awaited or subscribed")
	}
}

func TestOnlyANewerDeliveryIsLearned(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := began.Add(time.Minute)
	first := delivery("u", 1, "9", configMap)
	for name, tt := range map[string]struct {
		seen               *v1alpha1.Delivery
		taken, respecified bool
		arrived            time.Time
		memory             int
	}{
		"the same version":                  {seen: delivery("u", 1, "9", configMap), arrived: began, memory: 1},
		"an older version":                  {seen: delivery("u", 1, "8", configMap), arrived: began, memory: 1},
		"another status":                    {seen: delivery("u", 1, "10", configMap), taken: true, arrived: began, memory: 1},
		"another spec":                      {seen: delivery("u", 2, "10", secret), taken: true, respecified: true, arrived: later, memory: 1},
		"another Delivery of the same name": {seen: delivery("v", 1, "10", secret), taken: true, respecified: true, arrived: later, memory: 2},
	} {
		t.Run(name, func(t *testing.T) {
			x := newIndex()
			x.Learn(first, began)
			taken, respecified := x.Learn(tt.seen, later)
			if taken != tt.taken || respecified != tt.respecified {
				t.Errorf("taken %v, respecified %v", taken, respecified)
			}
			k, ok := x.Get("d")
			if !ok || k.Arrived != tt.arrived || k.Memory != tt.memory {
				t.Errorf("known is %+v (%v)", k, ok)
			}
			if x.IsCurrent(first) == tt.taken || x.IsCurrent(tt.seen) != tt.taken {
				t.Errorf("current is the first: %v, the second: %v", x.IsCurrent(first), x.IsCurrent(tt.seen))
			}
			if used := len(x.Using(schema.GroupResource{Resource: "configmaps"})); used == 1 == tt.respecified {
				t.Errorf("ConfigMaps are used by %d", used)
			}
		})
	}
}

func TestVersionsThatCannotBeComparedCountAsNewer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{{"10", "9", true}, {"9", "10", false}, {"9", "9", false}, {"x", "9", true}, {"9", "", true}} {
		if got := Newer(tt.a, tt.b); got != tt.want {
			t.Errorf("%q is newer than %q: %v", tt.a, tt.b, got)
		}
	}
}

func TestDeliveriesWithEvidenceAreCounted(t *testing.T) {
	x := newIndex()
	d := delivery("u", 1, "1", configMap)
	x.Learn(d, time.Time{})
	if n := x.WithEvidence(func(int) bool { return false }); n != 0 {
		t.Errorf("%d have evidence, want none", n)
	}
	with := delivery("u", 1, "2", configMap)
	with.Status.Evidence = []v1alpha1.ObjectEvidence{{Kind: "ConfigMap", Name: "settings"}}
	x.Learn(with, time.Time{})
	if n := x.WithEvidence(func(int) bool { return false }); n != 1 {
		t.Errorf("%d have evidence, want 1", n)
	}
}
