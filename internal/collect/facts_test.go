// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

func newTestLooks(t *testing.T) *lookQueue {
	looks := &lookQueue{queue: newQueue(clock.RealClock{}, time.Second), index: deliveryindex.New(newMemory)}
	t.Cleanup(looks.ShutDown)
	return looks
}

// metadataOf makes objects with these names, as a watch brings them.
func metadataOf(names ...string) (objs []any) {
	for _, name := range names {
		objs = append(objs, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"topology.kubernetes.io/zone": "zone-" + name},
		}})
	}
	return objs
}

func TestOnlyKnownFactsAreReported(t *testing.T) {
	f := newFacts(nil, newTestLooks(t))
	if told := f.told(); len(told) > 0 {
		t.Errorf("before the first list, the facts are %v", told)
	}
	f.setVersion("v1.36.3")
	f.changeCRDs(func(crds *nameSet) { crds.replace([]string{olmV0CRD, "greetings.example.com"}) })
	f.watchNodes().Replace(metadataOf("a", "b"), "1")
	f.watchDrivers().Replace(metadataOf("driver"), "1")
	class := object("storage.k8s.io/v1", "StorageClass", "", "fast")
	class.Object["provisioner"] = "disk"
	class.SetAnnotations(map[string]string{"storageclass.kubernetes.io/is-default-class": "true"})
	f.watchClasses().Replace([]any{class}, "1")
	want := map[string]any{
		"kubernetesVersion": "v1.36.3", "nodes": int64(2), "zones": []any{"zone-a", "zone-b"}, "olm": []any{string(v1alpha1.OLMV0)},
		"storageClasses": []any{"fast"}, "defaultStorageClasses": []any{"fast"}, "provisioners": []any{"disk", "driver"},
	}
	if diff := cmp.Diff(want, f.told()); diff != "" {
		t.Error(diff)
	}

	var many []any
	for i := range maxNames + 10 {
		many = append(many, object("storage.k8s.io/v1", "StorageClass", "", fmt.Sprintf("class-%03d", i)))
	}
	f.watchClasses().Replace(many, "2")
	if told := f.told()["storageClasses"].([]any); len(told) != maxNames {
		t.Errorf("the facts have %d classes", len(told))
	}
	if told := f.told()["defaultStorageClasses"]; told != nil {
		t.Errorf("the default classes are %v", told)
	}
}

// isSignaled reports whether the channel has a signal, and takes the signal out.
func isSignaled(ch chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestAStatusUpdateOfANodeDoesNotChangeTheFacts(t *testing.T) {
	f := newFacts(nil, newTestLooks(t))
	w := f.watchNodes()
	node := metadataOf("a")[0].(*metav1.PartialObjectMetadata)
	moved := node.DeepCopy()
	moved.Labels["topology.kubernetes.io/zone"] = "elsewhere"
	for _, step := range []struct {
		name string
		does func()
		news bool
	}{
		{"a new node", func() { w.Put(node) }, true},
		{"the same node again", func() { w.Put(node) }, false},
		{"the node in another zone", func() { w.Put(moved) }, true},
		{"the node is gone", func() { w.Drop(moved) }, true},
	} {
		step.does()
		if news := isSignaled(f.changed); news != step.news {
			t.Errorf("%s: it is news: %v", step.name, news)
		}
	}
}

func TestAChangeOfStorageClassesQueuesClaims(t *testing.T) {
	looks := newTestLooks(t)
	f := newFacts(nil, looks)
	looks.index.Learn(&v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: v1alpha1.DeliverySpec{Inventory: []v1alpha1.InventoryEntry{
			{Kind: "PersistentVolumeClaim", Resource: objectcache.Claims.Resource, Name: "data"},
		}},
	}, time.Now())
	if f.knownClasses() != nil {
		t.Error("classes are known before the first list")
	}
	w := f.watchClasses()
	for n, does := range []func(){
		func() { w.Replace(nil, "1") },
		func() { w.Put(object("storage.k8s.io/v1", "StorageClass", "", "fast")) },
		func() {
			w.Drop(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "fast"}}})
		},
	} {
		does()
		if looks.Len() != 1 || f.classChanges() != n+1 {
			t.Fatalf("after change %d, %d are looked at, and %d changes are counted", n+1, looks.Len(), f.classChanges())
		}
		name, _ := looks.Get()
		looks.Done(name)
	}
	if classes := f.knownClasses(); classes == nil || len(classes) > 0 {
		t.Errorf("classes are %v", classes)
	}
}
