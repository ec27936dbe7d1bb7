// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
)

func marked(change func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name = "shop", "data"
	obj.Labels = map[string]string{v1alpha1.LabelUID: "u"}
	obj.Annotations = map[string]string{v1alpha1.AnnotationWrapper: "federated/shop/web", v1alpha1.AnnotationObject: "crates.example.com/shop/data"}
	change(obj)
	return obj
}

var crates = discovery.Collection{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crates"}, Kind: "Crate"}

func TestMarksShowWhichWrapperDeliveredAnObject(t *testing.T) {
	web := search{wrapper: "federated/shop/web", namespace: "shop"}
	for name, test := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		want   bool
	}{
		"the wrapper's own object": {func(*metav1.PartialObjectMetadata) {}, true},
		"another wrapper's": {func(o *metav1.PartialObjectMetadata) {
			o.Annotations[v1alpha1.AnnotationWrapper] = "federated/shop/other"
		}, false},
		"an object to which the marks were copied": {func(o *metav1.PartialObjectMetadata) { o.Name = "child" }, false},
		"an object that was released":              {func(o *metav1.PartialObjectMetadata) { o.Labels = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := web.isMarked(marked(test.change), crates); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestWhyAnObjectWasKept(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		gk     schema.GroupKind
		want   string
	}{
		"data":        {func(*metav1.PartialObjectMetadata) {}, schema.GroupKind{Kind: "PersistentVolumeClaim"}, "of a kind that holds data, or that data depends on"},
		"annotated":   {func(o *metav1.PartialObjectMetadata) { o.Annotations[v1alpha1.AnnotationKeep] = "true" }, schema.GroupKind{Kind: "ConfigMap"}, `: "true"`},
		"a finalizer": {func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"rook\x1b[2J.io/x"} }, schema.GroupKind{Kind: "CephCluster"}, "finalizer rook[2J.io/x"},
		"no reason":   {func(*metav1.PartialObjectMetadata) {}, schema.GroupKind{Kind: "ConfigMap"}, "onDelete was KeepAll"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := why(marked(test.change), test.gk); !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
