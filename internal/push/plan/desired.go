// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// Rendering is the desired content of a member: the objects of one revision after the overrides for that member. It
// makes the objects only when a pass needs them, so that the objects of all pairs are not in memory at the same time.
type Rendering interface {
	// Digest is the digest of the objects.
	Digest() string
	// Lists reports whether the rendering has an object of this group, kind and name.
	Lists(group, kind, name string) bool
	// Render makes the objects.
	Render() (*render.Rendering, error)
}

// Desired is the desired state of one wrapper on one member. A Desired never changes: the manager makes a new one for a
// new desired state. Members with the same desired state of a wrapper may share one Desired.
type Desired struct {
	// Wrapper is the wrapper of the pair.
	Wrapper v1alpha1.WrapperIdentity
	// Revision names the ControllerRevision of Rendering.
	Revision string
	// Rendering is the desired content of the member; nil when the wrapper is to leave the member.
	Rendering Rendering
	// Drift is the wrapper's spec.drift: whether the manager repairs drift, or only reports it.
	Drift v1alpha1.DriftPolicy
	// OnConflict is the wrapper's spec.onConflict: what a pass does with an object that is not Fairlead's.
	OnConflict v1alpha1.ConflictPolicy
	// OnDelete is the wrapper's spec.onDelete: which objects stay on the member when the wrapper drops them.
	OnDelete v1alpha1.DeletionPolicy
	// Namespaces is the namespacePolicy: into which namespaces of the member the host may write.
	Namespaces v1alpha1.NamespacePolicy
	// Overwrites is the uid and generation of the Delivery that the host may overwrite, because a person allowed it by
	// an Approval; nil if there is no such Approval.
	Overwrites *v1alpha1.DeliveryVersion
	// SharesNamespace reports whether the wrapper's Subscriptions may be in a namespace with Subscriptions of other
	// owners (spec.upgrade.sharedNamespace: Allow).
	SharesNamespace bool
	// Reinstalls reports whether the manager may reinstall an operator that is ahead of its target
	// (spec.upgrade.rollback: Reinstall).
	Reinstalls bool
	// MayReinstall reports whether it is the member's turn: a reinstall may begin there now.
	MayReinstall bool
	// ReinstallWaits is why it is not the member's turn, in words.
	ReinstallWaits string
	// IsPaced reports whether the wrapper has a rollout, which changes the members one after another.
	IsPaced bool
	// Suspended reports whether the manager must write nothing to the member. spec.suspend of the wrapper or of the
	// MemberCluster sets it; while the wrapper is being deleted, only spec.suspend of the MemberCluster counts.
	Suspended bool
}

// Leaving reports whether the wrapper is to leave the member.
func (d *Desired) Leaving() bool { return d.Rendering == nil }

// IsHeldBy reports whether the member has the desired state according to its Delivery: the Delivery records exactly the
// desired objects, and all of them as applied. It ignores drift. It does not mean that the pair is in the state Held.
func (d *Desired) IsHeldBy(s *deliveries.Summary) bool { return d.IsRecordedBy(s) && s.Complete }

// IsRecordedBy reports whether the desired state is the target of the Delivery. Some of the objects may not be applied
// yet.
func (d *Desired) IsRecordedBy(s *deliveries.Summary) bool {
	return d != nil && s != nil && !d.Leaving() && s.Wrapper.UID == d.Wrapper.UID && s.Rendering == d.Digest()
}

// Same reports whether two desired states need the same writes to the member. The wrapper's generation, Revision,
// IsPaced and the fields about reinstalls make no difference.
func (d *Desired) Same(other *Desired) bool {
	return d != nil && other != nil &&
		d.Wrapper.UID == other.Wrapper.UID && (d.Rendering == other.Rendering || d.Digest() == other.Digest()) &&
		d.Drift == other.Drift && d.OnConflict == other.OnConflict && d.OnDelete == other.OnDelete &&
		d.Namespaces == other.Namespaces && d.Suspended == other.Suspended && d.SharesNamespace == other.SharesNamespace &&
		(d.Overwrites == nil) == (other.Overwrites == nil) && (d.Overwrites == nil || *d.Overwrites == *other.Overwrites)
}

// SameTurn reports whether the fields about reinstalls are the same.
func (d *Desired) SameTurn(other *Desired) bool {
	return d.Reinstalls == other.Reinstalls && d.MayReinstall == other.MayReinstall && d.ReinstallWaits == other.ReinstallWaits
}

// MayOverwrite reports whether a person has allowed the host to overwrite this Delivery. The permission is only for the
// uid and generation that the person saw.
func (d *Desired) MayOverwrite(on *v1alpha1.Delivery) bool {
	return d.Overwrites != nil && d.Overwrites.UID == on.UID && d.Overwrites.Generation == on.Generation
}

// Digest is the digest of the desired objects; "" when the wrapper is to leave the member.
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

// ResyncsSecrets reports whether the manager checks and repairs the Secrets of the pair. It does so only under drift:
// Repair.
func (d *Desired) ResyncsSecrets() bool {
	return d != nil && !d.Leaving() && d.Drift == v1alpha1.DriftRepair
}
