// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	settings   = deliveryindex.Ref{GroupResource: configMaps, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "settings"}}
)

func TestTheStateOfAResource(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(*Resource)
		want    State
		found   bool
	}{
		"nothing was listed": {happens: func(*Resource) {}, want: Unread},
		"it was listed":      {happens: listed, want: Listed, found: true},
		"listing was refused once it was listed": {
			happens: func(r *Resource) { listed(r); r.MarkForbidden() }, want: Forbidden, found: true,
		},
		"its version was not found": {happens: func(r *Resource) { listed(r); r.MarkNotServed() }, want: Listed, found: true},
		"no version was found": {
			happens: func(r *Resource) { listed(r); r.MarkNotServed(); r.MarkNotServed() }, want: Unserved,
		},
		"it is listed again": {
			happens: func(r *Resource) { r.MarkNotServed(); r.MarkNotServed(); listed(r) }, want: Listed, found: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := New()
			r := c.Keep([]schema.GroupResource{configMaps})[0]
			tt.happens(r)
			if s := c.See(settings); s.State != tt.want || s.Found != tt.found {
				t.Errorf("seen is %+v", s)
			}
			if unserved := len(c.Unserved()) == 1; unserved != (tt.want == Unserved) {
				t.Errorf("IsUnserved is %v", unserved)
			}
		})
	}
}

func listed(r *Resource) {
	r.Replace(map[types.NamespacedName]Record{settings.NamespacedName: {UID: "u", ResourceVersion: "5"}}, "5")
}

func TestMarkForbiddenReportsOnlyTheFirstRefusal(t *testing.T) {
	r := newResource(configMaps)
	if !r.MarkForbidden() || r.MarkForbidden() {
		t.Error("MarkForbidden does not return true exactly once")
	}
	if listed(r); !r.MarkForbidden() {
		t.Error("after a list, MarkForbidden does not return true again")
	}
}

func TestAResourceThatIsListedAgainStartsUnread(t *testing.T) {
	c := New()
	first := c.Keep([]schema.GroupResource{configMaps})[0]
	listed(first)
	if again := c.Keep([]schema.GroupResource{configMaps, Claims}); len(again) != 2 || c.See(settings).State != Listed {
		t.Errorf("a resource that stays is %+v", c.See(settings))
	}
	c.Keep(nil)
	if s := c.See(settings); s.State != Unread || s.Found {
		t.Errorf("of a resource that is not watched, seen is %+v", s)
	}
	if second := c.Keep([]schema.GroupResource{configMaps})[0]; second == first || c.See(settings).Found {
		t.Error("the resource is not a new Resource")
	}
	listed(first) // a late list of the watch that belongs to the dropped Resource
	if c.See(settings).Found {
		t.Error("the ending watch changed the new one")
	}
}

func TestPutStoresTheRecordOfARead(t *testing.T) {
	c := New()
	c.Put(settings, Record{UID: "u", ResourceVersion: "4"}) // has no effect, because the resource is not watched yet
	listed(c.Keep([]schema.GroupResource{configMaps})[0])
	c.Put(settings, Record{UID: "u", ResourceVersion: "7", Rendering: "new"})
	if s := c.See(settings); s.Record.Rendering != "new" {
		t.Errorf("seen is %+v", s)
	}
	c.DropGone(settings, "u")
	if s := c.See(settings); s.Found {
		t.Errorf("after it was read to be gone, seen is %+v", s)
	}
}

// The weight of a trimmed object is the memory that it takes. A text without weight would let a member fill the
// collector's memory past its budget.
func TestATrimmedObjectKeepsNoPayloadAndHasItsFullWeight(t *testing.T) {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "settings", UID: "u", ResourceVersion: "5", DeletionTimestamp: &metav1.Time{},
		Annotations: map[string]string{v1alpha1.AnnotationRendering: "sha256:1", "other": string(make([]byte, 1<<20))},
	}}
	got, err := TrimOf(configMaps)(obj)
	if err != nil {
		t.Fatal(err)
	}
	trimmed := got.(*Trimmed)
	want := Record{UID: "u", ResourceVersion: "5", Rendering: "sha256:1", Deleting: true}
	if trimmed.Record != want || trimmed.Key() != settings.NamespacedName || len(trimmed.Annotations) > 0 {
		t.Errorf("trimmed is %+v", trimmed)
	}
	light, heavy := &Trimmed{}, &Trimmed{}
	heavy.Namespace, heavy.Name = string(make([]byte, 1000)), string(make([]byte, 1000))
	heavy.Record = Record{UID: types.UID(make([]byte, 1000)), ResourceVersion: string(make([]byte, 1000)), Rendering: string(make([]byte, 1000))}
	if more := boundedread.ObjectWeight(heavy) - boundedread.ObjectWeight(light); more != 5000 {
		t.Errorf("5000 bytes of text weigh %d", more)
	}
	if _, err := TrimOf(configMaps)("nothing"); err == nil {
		t.Error("a string is trimmed")
	}
}
