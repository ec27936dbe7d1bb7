// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// objectWeight is the number of bytes that an object takes in memory without its texts, by estimate.
	objectWeight = 512
	// entryWeight is the number of bytes that an element of a list takes in memory without its texts, by estimate.
	entryWeight = 200
)

// Weighed is an object that estimates its own weight. ObjectWeight uses that estimate.
type Weighed interface {
	// Weight is the number of bytes that the object takes in memory, by estimate.
	Weight() int64
}

// ObjectWeight returns the number of bytes that an object takes in memory, by estimate.
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
	for i := range spec.Requests {
		weight += requestWeight(&spec.Requests[i])
	}
	return weight
}

// StatusWeight returns the number of bytes that the status of a Delivery takes in memory, by estimate. It has to count
// every text of the status. Otherwise a member could use an uncounted text to fill the memory of the host or the
// collector.
func StatusWeight(status *v1alpha1.DeliveryStatus) int {
	weight := len(status.ObservedRendering) + len(status.Version) + EvidenceWeight(status.Evidence) + AnswersWeight(status.Answers)
	for i := range status.Subscriptions {
		s := &status.Subscriptions[i]
		weight += entryWeight + len(s.Name) + len(s.TargetCSV) + len(s.InstalledCSV) + len(s.OfferedCSV)
	}
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

// EvidenceWeight returns the number of bytes that the evidence of a Delivery takes in memory, by estimate.
func EvidenceWeight(all []v1alpha1.ObjectEvidence) int {
	weight := 0
	for i := range all {
		e := &all[i]
		weight += entryWeight + len(e.Group) + len(e.Kind) + len(e.Name) + evidenceWeight(&e.Evidence)
	}
	return weight
}

func evidenceWeight(e *v1alpha1.Evidence) int {
	weight := 0
	for i := range e.Events {
		v := &e.Events[i]
		weight += entryWeight + len(v.Kind) + len(v.Name) + len(v.Type) + len(v.Reason) + len(v.Message)
	}
	for i := range e.Containers {
		c := &e.Containers[i]
		weight += entryWeight + len(c.Pod) + len(c.Name) + len(c.State) + len(c.Reason) + len(c.Log) + len(c.PreviousLog)
	}
	return weight
}

// AnswersWeight returns the number of bytes that the answers in a Delivery take in memory, by estimate.
func AnswersWeight(all []v1alpha1.EvidenceAnswer) int {
	weight := 0
	for i := range all {
		weight += requestWeight(&all[i].Request) + len(all[i].Message) + evidenceWeight(&all[i].Evidence)
	}
	return weight
}

func requestWeight(r *v1alpha1.EvidenceRequest) int {
	return entryWeight + len(r.Group) + len(r.Kind) + len(r.Name) + len(r.Type)
}
