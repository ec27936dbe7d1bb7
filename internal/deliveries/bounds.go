// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// These are the limits that the schema of a Delivery has. A hostile member may not enforce the schema, and must not fill the
// host's memory. So the host cuts longer texts and lists. A text that was cut matches nothing any more.
const (
	maxObjects     = 256
	maxName        = 253
	maxMessage     = 1024
	maxDriftFields = 16
	maxField       = 256
)

// maxWeight is about how many bytes of memory the summaries of one member may take. 100,000 healthy Deliveries take that much.
const maxWeight = 64 << 20

// weight is about how many bytes of memory the summary takes.
func (s *Summary) weight() int {
	if s == nil {
		return 0
	}
	const self = 464
	weight := self + len(s.UID) + len(s.Wrapper.Kind) + len(s.Wrapper.Namespace) + len(s.Wrapper.Name) + len(s.Wrapper.UID) + len(s.Revision) + len(s.Rendering) + len(s.Inventory)
	for _, name := range s.Secrets {
		weight += len(name) + 16
	}
	if s.Status != nil {
		weight += boundedread.StatusWeight(s.Status)
	}
	return weight
}

// cut returns the text, or its first bytes when it is longer than the limit. It copies them, so that the rest of the text can be
// freed.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.Clone(text[:limit])
}

// cutIdentity returns the identity with each text cut to its limit.
func cutIdentity(w v1alpha1.WrapperIdentity) v1alpha1.WrapperIdentity {
	w.Kind, w.Namespace = v1alpha1.WrapperKind(cut(string(w.Kind), maxName)), cut(w.Namespace, maxName)
	w.Name, w.UID = cut(w.Name, maxName), types.UID(cut(string(w.UID), maxName))
	return w
}

// cutStatus returns a copy of the status with each text and each list cut to its limit.
func cutStatus(is *v1alpha1.DeliveryStatus) *v1alpha1.DeliveryStatus {
	kept := &v1alpha1.DeliveryStatus{ObservedRendering: cut(is.ObservedRendering, maxName), Version: cut(is.Version, maxName)}
	for _, o := range is.Objects[:min(len(is.Objects), maxObjects)] {
		o.Group, o.Kind, o.Name = cut(o.Group, maxName), cut(o.Kind, maxName), cut(o.Name, maxName)
		o.Health = v1alpha1.Health(cut(string(o.Health), maxName))
		o.Reason, o.Message = cut(o.Reason, maxName), cut(o.Message, maxMessage)
		if d := o.Drift; d != nil {
			o.Drift = &v1alpha1.Drift{Kind: v1alpha1.DriftKind(cut(string(d.Kind), maxName)), Manager: cut(d.Manager, maxName),
				ResourceVersion: cut(d.ResourceVersion, maxName)}
			for _, field := range d.Fields[:min(len(d.Fields), maxDriftFields)] {
				o.Drift.Fields = append(o.Drift.Fields, cut(field, maxField))
			}
		}
		kept.Objects = append(kept.Objects, o)
	}
	return kept
}
