// SPDX-License-Identifier: Apache-2.0

package push

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Seen is what is kept in memory of a Delivery: digests and, in trouble, a few lines; never the
// inventory. After a restart it is all that the host needs to know that nothing has to be done.
type Seen struct {
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

// summarise trims a Delivery to what is kept.
func summarise(d *v1alpha1.Delivery) *Seen {
	s := &Seen{
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
		if isSecret(e) && e.State != v1alpha1.EntryRemoving && len(s.Secrets) < maxObjects {
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

// holds says whether the member holds just what is wanted, drift aside.
func (s *Seen) holds(w *Want) bool { return s.isFor(w) && s.Complete }

// isFor says whether what is delivered is what is wanted, be all of it there or not.
func (s *Seen) isFor(w *Want) bool {
	return s != nil && !w.Leaving() && s.Wrapper.UID == w.Wrapper.UID && s.Rendering == w.digest()
}

// drifts are the marks of drift that the collector made for what is delivered now.
func (s *Seen) drifts() []v1alpha1.ObjectStatus {
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

// servedNow says whether the collector has seen a kind come that the delivery waits for.
func (s *Seen) servedNow() bool {
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

// driftID names a drift: two marks of one ID speak of the same event.
func driftID(o *v1alpha1.ObjectStatus) string {
	return o.Group + "/" + o.Kind + "/" + o.Name + "@" + string(o.Drift.Kind) + o.Drift.ResourceVersion
}
