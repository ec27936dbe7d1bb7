// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// Rendering is the desired content of a member. Its objects are made when a pass needs them: there is one Desired for
// every pair, and it stays in memory as long as it is desired.
type Rendering interface {
	// Digest is the digest of the objects.
	Digest() string
	// Lists reports whether an object is among them.
	Lists(group, kind, name string) bool
	// Render makes the objects.
	Render() (*render.Rendering, error)
}

// Desired is the desired state of one pair. A Desired is never changed: another desired state is another Desired.
// Pairs of one wrapper with the same desired state share one.
type Desired struct {
	// Wrapper is the wrapper of the pair.
	Wrapper v1alpha1.WrapperIdentity
	// Revision names the ControllerRevision of Rendering.
	Revision string
	// Rendering is the desired content of the member; nil to leave the member.
	Rendering Rendering
	// Drift, OnConflict and OnDelete are the wrapper's policies.
	Drift      v1alpha1.DriftPolicy
	OnConflict v1alpha1.ConflictPolicy
	OnDelete   v1alpha1.DeletionPolicy
	// Namespaces selects the open namespaces of the member.
	Namespaces v1alpha1.NamespacePolicy
	// Overwrites is the member's Delivery that a person has allowed the host to overwrite; nil when there is none.
	Overwrites *v1alpha1.DeliveryVersion
	// Suspended stops every write. Leaving because the wrapper was deleted is never suspended.
	Suspended bool
}

// Leaving reports whether the member is to be left.
func (w *Desired) Leaving() bool { return w.Rendering == nil }

// IsHeldBy reports whether the member holds exactly the desired objects. It does not look at drift.
func (w *Desired) IsHeldBy(s *deliveries.Summary) bool { return w.IsRecordedBy(s) && s.Complete }

// IsRecordedBy reports whether the Delivery has the desired state as its target, whether all of it is applied or not.
func (w *Desired) IsRecordedBy(s *deliveries.Summary) bool {
	return w != nil && s != nil && !w.Leaving() && s.Wrapper.UID == w.Wrapper.UID && s.Rendering == w.Digest()
}

// Same reports whether two desired states need the same writes.
func (w *Desired) Same(other *Desired) bool {
	return w != nil && other != nil &&
		w.Wrapper.UID == other.Wrapper.UID && (w.Rendering == other.Rendering || w.Digest() == other.Digest()) &&
		w.Drift == other.Drift && w.OnConflict == other.OnConflict && w.OnDelete == other.OnDelete &&
		w.Namespaces == other.Namespaces && w.Suspended == other.Suspended &&
		(w.Overwrites == nil) == (other.Overwrites == nil) && (w.Overwrites == nil || *w.Overwrites == *other.Overwrites)
}

// MayOverwrite reports whether a person has allowed the host to overwrite this Delivery as it is now.
func (w *Desired) MayOverwrite(d *v1alpha1.Delivery) bool {
	return w.Overwrites != nil && w.Overwrites.UID == d.UID && w.Overwrites.Generation == d.Generation
}

// Digest is the digest of the desired objects, "" to leave the member.
func (w *Desired) Digest() string {
	if w.Rendering == nil {
		return ""
	}
	return w.Rendering.Digest()
}

// Lists reports whether an object is one of the desired objects.
func (w *Desired) Lists(id ObjectID) bool {
	return w != nil && w.Rendering != nil && w.Rendering.Lists(id.Group, id.Kind, id.Name)
}

// ResyncsSecrets reports whether the host repairs Secrets that other clients change.
func (w *Desired) ResyncsSecrets() bool {
	return w != nil && !w.Leaving() && w.Drift == v1alpha1.DriftRepair
}
