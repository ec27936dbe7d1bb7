// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Summary is the part of a Delivery that the host keeps in memory: digests, and a few lines about objects that are not well. It
// leaves out the inventory. After a restart the host needs no more to know that a member needs no push. A summary never changes.
type Summary struct {
	// UID and Generation are the Delivery's own.
	UID        types.UID
	Generation int64
	// Wrapper identifies the wrapper that the Delivery was written for.
	Wrapper v1alpha1.WrapperIdentity
	// Revision and Rendering are those of the target. Both are empty while the objects are being removed from the member.
	Revision, Rendering string
	// Complete means that every inventory entry is Applied: the member holds the target and nothing else.
	Complete bool
	// Judged means that the inventory has an object whose health only the collector can tell, because it makes progress after it
	// was applied.
	Judged bool
	// Inventory is the fingerprint of the inventory, "" for one that the host reads before it writes.
	Inventory Fingerprint
	// Secrets are the names of the Secrets in the inventory. No collector may read them or report their drift.
	Secrets []string
	// Status is the status that the collector wrote, nil when it wrote none.
	Status *v1alpha1.DeliveryStatus
}

// Summarise makes the summary of a Delivery.
func Summarise(d *v1alpha1.Delivery) *Summary {
	s := &Summary{
		UID:        types.UID(cut(string(d.UID), maxName)),
		Generation: d.Generation,
		Wrapper:    cutIdentity(d.Spec.Wrapper),
		Complete:   true,
	}
	if d.Spec.Target != nil {
		s.Revision, s.Rendering = cut(d.Spec.Target.Revision, maxName), cut(d.Spec.Target.Rendering, maxName)
	}
	for i := range d.Spec.Inventory {
		e := &d.Spec.Inventory[i]
		if e.State != v1alpha1.EntryApplied {
			s.Complete = false
		}
		if IsSecret(e) && e.State != v1alpha1.EntryRemoving && len(s.Secrets) < maxObjects {
			s.Secrets = append(s.Secrets, cut(e.Name, maxName))
		}
		if health.HasProgress(schema.GroupKind{Group: e.Group, Kind: e.Kind}) {
			s.Judged = true
		}
	}
	s.Inventory = fingerprintOf(d.Spec.Inventory)
	if d.Status.ObservedRendering != "" || d.Status.Version != "" || len(d.Status.Objects) > 0 {
		s.Status = cutStatus(&d.Status)
	}
	return s
}

// Drifts are the objects that the collector has marked as drifted.
func (s *Summary) Drifts() []v1alpha1.ObjectStatus {
	if s == nil || s.Status == nil {
		return nil
	}
	var found []v1alpha1.ObjectStatus
	for i := range s.Status.Objects {
		if s.Status.Objects[i].Drift != nil {
			found = append(found, s.Status.Objects[i])
		}
	}
	return found
}

// ServedNow reports whether the collector has marked a kind that was missing as served now.
func (s *Summary) ServedNow() bool {
	if s == nil || s.Status == nil {
		return false
	}
	for i := range s.Status.Objects {
		if s.Status.Objects[i].Reason == v1alpha1.ReasonAPIServed {
			return true
		}
	}
	return false
}

// DriftID identifies a drift. Two marks with the same ID are about the same change on the member.
func DriftID(o *v1alpha1.ObjectStatus) string {
	return o.Group + "/" + o.Kind + "/" + o.Name + "@" + string(o.Drift.Kind) + o.Drift.ResourceVersion
}

// IsUnfinished reports whether the collector reports that the manager itself changed the object and did not record that.
func IsUnfinished(o *v1alpha1.ObjectStatus) bool {
	return o.Drift != nil && o.Reason == v1alpha1.ReasonUnfinished
}

// IsObserved reports whether the collector may watch an object, as far as the status of the Delivery shows.
func (s *Summary) IsObserved(group, kind, name string) bool {
	if s.Status == nil {
		return true
	}
	for i := range s.Status.Objects {
		if o := &s.Status.Objects[i]; o.Reason == v1alpha1.ReasonNotGranted && o.Group == group && o.Kind == kind && o.Name == name {
			return false
		}
	}
	return true
}

// IsSecret reports whether an inventory entry is a Secret. No collector may read Secrets or report their drift.
func IsSecret(e *v1alpha1.InventoryEntry) bool { return e.Group == "" && e.Kind == "Secret" }
