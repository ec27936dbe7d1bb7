// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// objectWeight is about how many bytes of memory an object takes without its texts. entryWeight is the same for an
	// element of a list.
	objectWeight = 512
	entryWeight  = 200
)

// Weighed is an object that knows its own weight. ObjectWeight uses it.
type Weighed interface {
	// Weight is about how many bytes of memory the object takes.
	Weight() int64
}

// ObjectWeight is about how many bytes of memory an object takes.
func ObjectWeight(obj runtime.Object) int64 {
	switch o := obj.(type) {
	case Weighed:
		return objectWeight + o.Weight()
	case *metav1.PartialObjectMetadata:
		return int64(objectWeight + o.ObjectMeta.Size())
	case *unstructured.Unstructured: // a map takes several times more in memory than on the wire
		if raw, err := o.MarshalJSON(); err == nil {
			return int64(objectWeight + 4*len(raw))
		}
	case *v1alpha1.Delivery:
		return int64(objectWeight + o.ObjectMeta.Size() + specWeight(&o.Spec) + StatusWeight(&o.Status))
	}
	return objectWeight
}

func specWeight(spec *v1alpha1.DeliverySpec) int {
	w := &spec.Wrapper
	weight := len(w.Kind) + len(w.Namespace) + len(w.Name) + len(w.UID) + len(spec.Seal)
	if t := spec.Target; t != nil {
		weight += len(t.Revision) + len(t.Rendering)
	}
	for i := range spec.Inventory {
		e := &spec.Inventory[i]
		weight += entryWeight + len(e.Group) + len(e.Kind) + len(e.Resource) + len(e.Name) + len(e.State) + len(e.Rendering) +
			len(e.UID) + len(e.Fields) + len(e.Adopted)
	}
	return weight
}

// StatusWeight is about how many bytes of memory the status of a Delivery takes, without its fixed fields. Every text
// has to count: a member could fill the memory of the host or the collector with a text that does not count.
func StatusWeight(status *v1alpha1.DeliveryStatus) int {
	weight := len(status.ObservedRendering) + len(status.Version)
	for i := range status.Objects {
		o := &status.Objects[i]
		weight += entryWeight + len(o.Group) + len(o.Kind) + len(o.Name) + len(o.Health) + len(o.Reason) + len(o.Message)
		if o.Drift == nil {
			continue
		}
		weight += entryWeight + len(o.Drift.Kind) + len(o.Drift.Manager) + len(o.Drift.ResourceVersion)
		for _, field := range o.Drift.Fields {
			weight += 16 + len(field)
		}
	}
	return weight
}
