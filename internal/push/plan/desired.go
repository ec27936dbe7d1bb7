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
	// SharesNamespace reports whether the wrapper may have Subscriptions beside those of other owners.
	SharesNamespace bool
	// IsPaced reports whether a rollout paces the wrapper.
	IsPaced bool
	// Suspended stops every write. Leaving because the wrapper was deleted is never suspended.
	Suspended bool
}

// Leaving reports whether the member is to be left.
func (d *Desired) Leaving() bool { return d.Rendering == nil }

// IsHeldBy reports whether the member holds exactly the desired objects. It does not look at drift.
func (d *Desired) IsHeldBy(s *deliveries.Summary) bool { return d.IsRecordedBy(s) && s.Complete }

// IsRecordedBy reports whether the Delivery has the desired state as its target, whether all of it is applied or not.
func (d *Desired) IsRecordedBy(s *deliveries.Summary) bool {
	return d != nil && s != nil && !d.Leaving() && s.Wrapper.UID == d.Wrapper.UID && s.Rendering == d.Digest()
}

// Same reports whether two desired states need the same writes.
func (d *Desired) Same(other *Desired) bool {
	return d != nil && other != nil &&
		d.Wrapper.UID == other.Wrapper.UID && (d.Rendering == other.Rendering || d.Digest() == other.Digest()) &&
		d.Drift == other.Drift && d.OnConflict == other.OnConflict && d.OnDelete == other.OnDelete &&
		d.Namespaces == other.Namespaces && d.Suspended == other.Suspended && d.SharesNamespace == other.SharesNamespace &&
		(d.Overwrites == nil) == (other.Overwrites == nil) && (d.Overwrites == nil || *d.Overwrites == *other.Overwrites)
}

// MayOverwrite reports whether a person has allowed the host to overwrite this Delivery as it is now.
func (d *Desired) MayOverwrite(on *v1alpha1.Delivery) bool {
	return d.Overwrites != nil && d.Overwrites.UID == on.UID && d.Overwrites.Generation == on.Generation
}

// Digest is the digest of the desired objects, "" to leave the member.
func (d *Desired) Digest() string {
	if d.Rendering == nil {
		return ""
	}
	return d.Rendering.Digest()
}

// Lists reports whether an object is one of the desired objects.
func (d *Desired) Lists(id ObjectID) bool {
	return d != nil && d.Rendering != nil && d.Rendering.Lists(id.Group, id.Kind, id.Name)
}

// ResyncsSecrets reports whether the host repairs Secrets that other clients change.
func (d *Desired) ResyncsSecrets() bool {
	return d != nil && !d.Leaving() && d.Drift == v1alpha1.DriftRepair
}
