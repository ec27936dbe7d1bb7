// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// What the schema of a Delivery allows. A member whose API server keeps to none must not fill the host's memory: what is
// longer is cut, and so means nothing any more.
const (
	maxObjects     = 256
	maxName        = 253
	maxMessage     = 1024
	maxDriftFields = 16
	maxField       = 256
)

// maxWeight is how many bytes of memory, about, the Deliveries of one member may take at the host. 100,000 that are well take
// that.
const maxWeight = 64 << 20

// weight is about how many bytes of memory it takes.
func (s *Summary) weight() int {
	if s == nil {
		return 0
	}
	const self = 480
	weight := self + len(s.UID) + len(s.Wrapper.Kind) + len(s.Wrapper.Namespace) + len(s.Wrapper.Name) + len(s.Wrapper.UID) + len(s.Revision) + len(s.Rendering)
	for _, name := range s.Secrets {
		weight += len(name) + 16
	}
	if s.Status != nil {
		weight += boundedread.StatusWeight(s.Status)
	}
	return weight
}

// cut is a text, or as much of it as there may be. What is left over is not held in memory by what is kept.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.Clone(text[:limit])
}

func cutIdentity(w v1alpha1.WrapperIdentity) v1alpha1.WrapperIdentity {
	w.Kind, w.Namespace = v1alpha1.WrapperKind(cut(string(w.Kind), maxName)), cut(w.Namespace, maxName)
	w.Name, w.UID = cut(w.Name, maxName), types.UID(cut(string(w.UID), maxName))
	return w
}

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
