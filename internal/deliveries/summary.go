// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// Summary is the part of a Delivery that the host keeps in memory: digests, a fingerprint of the inventory, and the
// status of objects that are not healthy. From it a restarted manager decides whether the member needs a push. A
// Summary never changes.
type Summary struct {
	// UID is the uid of the Delivery itself, not of its wrapper.
	UID types.UID
	// Generation is the metadata.generation of the Delivery itself, not of its wrapper.
	Generation int64
	// Wrapper identifies the wrapper for which the Delivery was written.
	Wrapper v1alpha1.WrapperIdentity
	// Revision is the revision of the Delivery's target; "" while the wrapper is leaving the member.
	Revision string
	// Rendering is the digest of the Delivery's target; "" while the wrapper is leaving the member.
	Rendering string
	// Complete is true if every entry of the inventory is Applied: the member has all objects of the target and no others.
	Complete bool
	// Judged is true if the inventory has an object that makes progress after its apply, for example a Deployment. Only
	// the collector can tell whether such an object is healthy.
	Judged bool
	// Inventory is the fingerprint of the inventory; "" if the host has to read the Delivery before it writes the
	// Delivery.
	Inventory Fingerprint
	// Secrets are the names of the Secrets in the inventory, except those that are being removed. The manager itself
	// checks them for drift, because collectors must not read Secrets.
	Secrets []string
	// Reinstall tells how far the reinstalls of the wrapper's operators are, according to the annotation of the Delivery.
	Reinstall upgrade.RecordState
	// Status is the status that the collector wrote; nil when it wrote none.
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
	if records, err := upgrade.ParseRecords(d.Annotations[v1alpha1.AnnotationReinstalls]); err == nil {
		s.Reinstall = records.State() // an annotation that cannot be read holds no turn; an attempt reports it
	}
	if d.Status.ObservedRendering != "" || d.Status.Version != "" || len(d.Status.Objects) > 0 {
		s.Status = cutStatus(&d.Status)
	}
	return s
}

// Drifts returns the objects that the collector has reported as drifted.
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

// ServedNow reports whether the collector has reported that the member now serves a kind that was missing at the push.
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

// DriftID returns an ID of a drift. Two reports with the same ID are about the same change of the same object.
func DriftID(o *v1alpha1.ObjectStatus) string {
	return o.Group + "/" + o.Kind + "/" + o.Name + "@" + string(o.Drift.Kind) + o.Drift.ResourceVersion
}

// IsUnfinished reports whether the collector has marked the drift as an unfinished push: the manager itself changed the
// object, and did not record that in the Delivery.
func IsUnfinished(o *v1alpha1.ObjectStatus) bool {
	return o.Drift != nil && o.Reason == v1alpha1.ReasonUnfinished
}

// IsObserved reports whether the collector is allowed to watch an object. It returns false only if the collector has
// reported reason NotGranted for the object.
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

// IsSecret reports whether an inventory entry is a Secret. Collectors must not read Secrets, so they report no drift of
// them.
func IsSecret(e *v1alpha1.InventoryEntry) bool { return e.Group == "" && e.Kind == "Secret" }
