// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// These are the limits in the schema of a Delivery, in elements or bytes. A hostile member could leave out the schema
// and send Deliveries that fill the host's memory, so the host cuts longer texts and lists. A name that was cut has
// maxName bytes, the greatest length in Kubernetes. So hardly any wrapper on the host has this name.
const (
	// maxObjects is the number of objects in a status, and of Secrets in a summary.
	maxObjects = 256
	// maxVersions is the number of Subscriptions in a status.
	maxVersions = 64
	// maxName is the length of a name, uid, kind, digest or reason, in bytes.
	maxName = 253
	// maxMessage is the length of a message, in bytes.
	maxMessage = 1024
	// maxDriftFields is the number of drifted fields of one object.
	maxDriftFields = 16
	// maxField is the length of the path of one drifted field, in bytes.
	maxField = 256
)

// maxWeight bounds how many bytes of memory, by estimate, the summaries of one member may take. 100,000 Deliveries
// without trouble fit.
const maxWeight = 64 << 20

// weight estimates how many bytes of memory the summary takes.
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

// cut returns the first limit bytes of a text; the whole text if it is not longer. It copies the bytes of a cut text,
// so that the memory of the whole text can be freed.
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
	for _, s := range is.Subscriptions[:min(len(is.Subscriptions), maxVersions)] {
		kept.Subscriptions = append(kept.Subscriptions, v1alpha1.ObservedSubscription{
			Name: cut(s.Name, maxName), TargetCSV: cut(s.TargetCSV, maxName), InstalledCSV: cut(s.InstalledCSV, maxName), OfferedCSV: cut(s.OfferedCSV, maxName)})
	}
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
