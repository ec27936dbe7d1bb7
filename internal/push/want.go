// SPDX-License-Identifier: Apache-2.0

package push

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// Key names a wrapper at the host.
type Key = deliveries.Key

// KeyOf is the key of a wrapper's identity.
func KeyOf(id v1alpha1.WrapperIdentity) Key { return deliveries.KeyOf(id) }

// Rendering is what is to stand on a member. Its objects are made when a pass needs them: a Want is kept for as long as it
// is wanted, and there is one for every pair.
type Rendering interface {
	// Digest is that of the objects.
	Digest() string
	// Lists says whether an object is among them.
	Lists(group, kind, name string) bool
	// Render makes the objects.
	Render() (*render.Rendering, error)
}

// Want is what the host wants of one pair. A Want is never changed: another wish is another Want. Pairs of one wrapper that
// want the same share one.
type Want struct {
	// Wrapper is who wants it.
	Wrapper v1alpha1.WrapperIdentity
	// Revision names the ControllerRevision of Rendering.
	Revision string
	// Rendering is what is to stand there; nil to leave the member.
	Rendering Rendering
	// Drift, OnConflict and OnDelete are the wrapper's policies.
	Drift      v1alpha1.DriftPolicy
	OnConflict v1alpha1.ConflictPolicy
	OnDelete   v1alpha1.DeletionPolicy
	// Namespaces says which namespaces of the member are open.
	Namespaces v1alpha1.NamespacePolicy
	// Overwrites is the Delivery there that a person has said may be written over, nil when nobody has.
	Overwrites *v1alpha1.DeliveryVersion
	// Suspended holds every write back. Leaving because the wrapper was deleted is never suspended.
	Suspended bool
}

// Leaving says whether the member is to be left.
func (w *Want) Leaving() bool { return w.Rendering == nil }

// IsHeldBy says whether the member holds just what is wanted, drift aside.
func (w *Want) IsHeldBy(s *deliveries.Summary) bool { return w.isRecordedBy(s) && s.Complete }

// isRecordedBy says whether what is delivered is what is wanted, be all of it there or not.
func (w *Want) isRecordedBy(s *deliveries.Summary) bool {
	return w != nil && s != nil && !w.Leaving() && s.Wrapper.UID == w.Wrapper.UID && s.Rendering == w.digest()
}

// same says whether two wants ask for the same writes.
func (w *Want) same(other *Want) bool {
	return w != nil && other != nil &&
		w.Wrapper.UID == other.Wrapper.UID && (w.Rendering == other.Rendering || w.digest() == other.digest()) &&
		w.Drift == other.Drift && w.OnConflict == other.OnConflict && w.OnDelete == other.OnDelete &&
		w.Namespaces == other.Namespaces && w.Suspended == other.Suspended &&
		(w.Overwrites == nil) == (other.Overwrites == nil) && (w.Overwrites == nil || *w.Overwrites == *other.Overwrites)
}

// overwrites says whether a person has said that this very Delivery, as it is now, may be written over.
func (w *Want) overwrites(d *v1alpha1.Delivery) bool {
	return w.Overwrites != nil && w.Overwrites.UID == d.UID && w.Overwrites.Generation == d.Generation
}

func (w *Want) digest() string {
	if w.Rendering == nil {
		return ""
	}
	return w.Rendering.Digest()
}

// isOvertakenBy says whether a wish that asks for the same writes may fare better than the one before: a
// host that was behind the member has caught up.
func (o *Outcome) isOvertakenBy(w *Want) bool {
	return o.Reason == v1alpha1.ReasonHostBehindMember && w.Wrapper.Generation > o.want.Wrapper.Generation
}

// Outcome is how far the last pass of a pair got.
type Outcome struct {
	// Done is whether the member holds just what was wanted (or was left), as of this pass.
	Done bool
	// State, Reason and Message say what is in the way when it is not done.
	State   v1alpha1.ClusterState
	Reason  string
	Message string
	// Retry is when to try again by ourselves; zero waits for a change.
	Retry time.Duration
	// Kept are objects that the pass left on the member, out of care from now on, each with the reason.
	Kept []Kept
	// Overtaken is the Delivery that the pair is held for, until a person says whose word counts; nil when
	// it is not.
	Overtaken *v1alpha1.DeliveryVersion

	// want is what the pass was for; uid and generation are the Delivery's as the pass left it.
	want       *Want
	uid        types.UID
	generation int64
	// unmended are the drifted objects that the pass was to repair and could not.
	unmended []identity
	// again is when the pair is tried again by itself; zero when it waits for a change. Set by the lane.
	again time.Time
}

// lists says whether an object is among those that are wanted.
func (w *Want) lists(id identity) bool {
	return w != nil && w.Rendering != nil && w.Rendering.Lists(id.group, id.kind, id.name)
}
