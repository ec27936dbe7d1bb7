// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Summary is what is kept in memory of a Delivery: digests and, in trouble, a few lines; never the
// inventory. After a restart it is all that the host needs to know that nothing has to be done.
type Summary struct {
	// UID and Generation are the Delivery's own.
	UID        types.UID
	Generation int64
	// Wrapper is whose it is.
	Wrapper v1alpha1.WrapperIdentity
	// Revision and Rendering are the target's; both empty while the member is being left.
	Revision, Rendering string
	// Complete is whether every entry is Applied: the member holds the target and nothing else.
	Complete bool
	// Judged is whether the collector has to speak before the pair is known to be well, because some
	// object has a progress of its own.
	Judged bool
	// Secrets are the names of the Secrets that it lists: nobody tells when they drift.
	Secrets []string
	// Status is the collector's word; nil when there is none.
	Status *v1alpha1.DeliveryStatus
}

// Summarise trims a Delivery to what is kept.
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
	if d.Status.ObservedRendering != "" || d.Status.Version != "" || len(d.Status.Objects) > 0 {
		s.Status = cutStatus(&d.Status)
	}
	return s
}

// Drifts are the marks of drift that the collector made for what is delivered now.
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

// ServedNow says whether the collector has seen a kind come that the delivery waits for.
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

// DriftID names a drift: two marks of one ID speak of the same event.
func DriftID(o *v1alpha1.ObjectStatus) string {
	return o.Group + "/" + o.Kind + "/" + o.Name + "@" + string(o.Drift.Kind) + o.Drift.ResourceVersion
}

// IsSecret says whether an entry is of a Secret, of which nobody tells when it drifts.
func IsSecret(e *v1alpha1.InventoryEntry) bool { return e.Group == "" && e.Kind == "Secret" }
