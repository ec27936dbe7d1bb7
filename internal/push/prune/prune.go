// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/retention"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Pruner removes objects that are no longer desired from a member. It is used for one pass.
type Pruner struct {
	conn    *member.Conn
	desired *plan.Desired
	// isDesired reports whether the desired state that the pass was made for is still the present one; nil means that it
	// always is.
	isDesired func() bool
	// isOpen reports whether the member lets the host write to a Namespace and into it.
	isOpen func(*metav1.PartialObjectMetadata) bool
	// trouble collects the problems with single objects.
	trouble *memberapi.Troubles
	locator *locator
	claims  *claimRetention

	// Waits is the part of the status message that names the first removal that waits until all desired objects are
	// applied; "" when no removal waits. Remove sets it.
	Waits string
	// Kept are the objects that the pass left on the member, each with the reason. Remove sets it.
	Kept []plan.Kept
	// Freed is true if the pass removed an object that only restricts, for example a quota. Desired objects that the API
	// server refused before may be accepted by the next pass. Remove sets it.
	Freed bool
}

// New makes a pruner for one pass. isDesired reports whether the desired state that the pass was made for is still the
// present one; nil means that it always is. isOpen reports whether the member lets the host write to a Namespace. The
// pruner adds problems with single objects to trouble.
func New(conn *member.Conn, desired *plan.Desired, isDesired func() bool, isOpen func(*metav1.PartialObjectMetadata) bool, trouble *memberapi.Troubles) *Pruner {
	return &Pruner{conn: conn, desired: desired, isDesired: isDesired, isOpen: isOpen, trouble: trouble,
		locator: &locator{conn: conn, desired: desired, trouble: trouble},
		claims: &claimRetention{conn: conn, policy: desired.OnDelete, trouble: trouble,
			owners: &claimOwners{conn: conn, namespace: desired.Wrapper.Namespace}}}
}

// Remove removes objects in reverse install order. Objects of the same place in that order form a rank. Remove begins a
// rank when all objects of the previous rank are gone, because the finalizers of those may need objects that were
// installed earlier.
//
// isMissing reports whether some desired object is not applied yet. Remove then waits, so that a renamed object does
// not disappear before its successor is there. Even then Remove removes objects that only restrict, for example a
// quota: such an object may be what prevents the desired objects.
func (p *Pruner) Remove(ctx context.Context, leaving []*Removal, isMissing bool) error {
	if isMissing {
		var kept []*Removal
		leaving, kept = restrictions(leaving)
		if len(kept) > 0 {
			p.Waits = "the removal of " + kept[0].String() + more(len(kept)-1) + " waits until all other objects are applied"
		}
		defer func() { p.Freed = slices.ContainsFunc(leaving, func(r *Removal) bool { return r.Gone }) }()
	}
	waitingAt, blocked := 0, false
	for _, r := range leaving {
		rank := render.InstallOrder(r.GroupKind())
		if blocked && rank != waitingAt {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.isDesired != nil && !p.isDesired() {
			// The desired state changed while the pass ran: a person released the wrapper from this member, or the wrapper is
			// placed there again.
			p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonLeaving, "%s is not removed yet: the desired state changed during this push; the next push decides", r))
			return nil
		}
		if err := p.removeOne(ctx, r); err != nil {
			return err
		}
		if !r.Gone && !blocked {
			waitingAt, blocked = rank, true
		}
	}
	return nil
}

func (p *Pruner) removeOne(ctx context.Context, r *Removal) error {
	if r.Entry.Resource == "" || p.desired.OnDelete == v1alpha1.KeepAll && r.Entry.Adopted != v1alpha1.AdoptedYes {
		// The member never served the kind, or onDelete keeps every object. Under KeepAll the manager still releases an
		// object that the Delivery records as adopted. If the Delivery has lost that record, the object keeps its marks. One
		// of them is AnnotationAdopted, so a later wrapper of this name does not delete the object.
		r.Gone = true
		return nil
	}
	path, err := p.locator.pathOf(ctx, r)
	if err != nil || path == nil {
		return err
	}
	found, err := memberapi.Metadata(ctx, p.conn, path)
	switch {
	case memberapi.IsPathGone(err):
		// The member does not serve the version of the cached mapping any more, so the answer does not show whether the
		// object exists.
		p.conn.DoubtMapping(r.GroupKind())
		p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"%s: the member no longer serves %s under the API path of the last push; the manager looks the kind up again", r, r.Entry.Kind))
		return nil
	case err != nil:
		return p.refused(r, "removing", err)
	}
	return p.removeExisting(ctx, r, path, found)
}

// refused acts on the error of a request about one object. If the object is gone, its entry may leave the inventory. A
// refusal of the API server becomes trouble, and the pass goes on with the other objects. Every other error concerns
// the member as a whole, and refused returns it.
func (p *Pruner) refused(r *Removal, verb string, err error) error {
	switch {
	case memberapi.IsAbsent(err):
		r.Gone = true
		return nil
	case memberapi.AnsweredAbout(r.Entry.Group, err):
		p.trouble.Add(memberapi.Explain(verb, r.String(), err))
		return nil
	}
	return fmt.Errorf("%s %s on member %s: %w", verb, r, p.conn.Name(), err)
}

// removeExisting deletes, releases or keeps an object that exists. Each case below is one reason not to delete it; the
// first that applies counts.
func (p *Pruner) removeExisting(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) error {
	switch {
	case !r.isMeant(p.desired.Wrapper.UID, found):
		// Another client created a new object under this name, or removed Fairlead's marks from the object.
		r.Gone = true
		return nil
	case found.DeletionTimestamp != nil && p.desired.OnDelete == v1alpha1.KeepAll:
		// Another client is deleting the object. Under KeepAll the wrapper leaves without waiting for the object's
		// finalizers.
		r.Gone = true
		return nil
	case found.DeletionTimestamp != nil:
		p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits, "%s is being deleted on the member%s", r, memberapi.HeldBy(found)))
		return nil
	case r.isReserved():
		p.keep(r, "it is Fairlead's own, or a system namespace")
		return nil
	case p.isReleased(r, found):
		return p.giveBack(ctx, r, path, found)
	case retention.IsKept(p.desired.OnDelete, r.GroupKind(), found.Annotations[v1alpha1.AnnotationKeep]):
		p.keep(r, retention.WhyKept(found.Annotations[v1alpha1.AnnotationKeep]))
		return nil
	case r.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) && !p.isOpen(found):
		p.keep(r, "the member has closed this Namespace to the host")
		return nil
	}
	if why, settled, err := p.claims.spare(ctx, r, path, found); settled || err != nil {
		if why != "" {
			p.keep(r, why)
		}
		return err
	}
	if contained, err := othersContents(ctx, p.conn, p.desired.Wrapper.UID, r, found); err != nil || contained != nil {
		if contained != nil {
			p.trouble.Add(*contained)
		}
		return err
	}
	return p.delete(ctx, r, path, found)
}

// isReleased reports whether the object is to be released: Fairlead adopted it, and it is not to be deleted. A
// Namespace that the member has closed is not released, because the host must not write to it.
func (p *Pruner) isReleased(r *Removal, found *metav1.PartialObjectMetadata) bool {
	if !r.isAdopted(found) || r.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) && !p.isOpen(found) {
		return false
	}
	return p.desired.OnDelete != v1alpha1.DeleteAll || holdsOthers(r.GroupKind()) || found.Annotations[v1alpha1.AnnotationKeep] == "true"
}

// Identify adds missing uids to entries of a Delivery that this wrapper takes over from an earlier wrapper of its name.
// A pass of the earlier wrapper may have created an object and ended before it recorded the uid. Identify recognises
// that object by the marks of the earlier wrapper and the rendering in the entry. Without the uid, a later pass could
// not tell that object from one that the earlier wrapper left on the member for good.
func (p *Pruner) Identify(ctx context.Context, leaving []*Removal, earlier types.UID) error {
	for _, r := range leaving {
		if r.Entry.UID != "" || r.Entry.Resource == "" || p.desired.OnDelete == v1alpha1.KeepAll {
			continue
		}
		path, err := p.locator.pathOf(ctx, r)
		if err != nil {
			return err
		}
		if path == nil {
			continue
		}
		found, err := memberapi.Metadata(ctx, p.conn, path)
		if err != nil && !memberapi.AnsweredAbout(r.Entry.Group, err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading %s on member %s: %w", r, p.conn.Name(), err)
		}
		if err == nil && marks.IsOurs(found, earlier, r.mark(found)) && r.Entry.Rendering != "" &&
			found.Annotations[v1alpha1.AnnotationRendering] == r.Entry.Rendering {
			r.Entry.UID = found.UID
		}
	}
	return nil
}

// SpareReplaced reports whether the manager must not delete and recreate an object, because claims would be deleted
// with the object. If so, it adds trouble.
func (p *Pruner) SpareReplaced(ctx context.Context, object string, uid types.UID) (bool, error) {
	return p.claims.spareReplaced(ctx, object, uid)
}

// keep leaves an object on the member with its marks, and records the reason.
func (p *Pruner) keep(r *Removal, why string) {
	r.Gone = true
	p.Kept = append(p.Kept, plan.Kept{Reason: v1alpha1.ReasonKept, Object: r.String(), Why: why})
}

func (p *Pruner) giveBack(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) error {
	if err := memberapi.Release(ctx, p.conn, path, found); err != nil {
		return p.refused(r, "releasing", err)
	}
	r.Gone = true
	return nil
}

func (p *Pruner) delete(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) error {
	csv, err := installedBy(ctx, p.conn, r, path)
	if err != nil {
		return fmt.Errorf("reading the status of %s on member %s: %w", r, p.conn.Name(), err)
	}
	if err := memberapi.DeleteExactly(ctx, p.conn, path, metav1.Preconditions{UID: &found.UID}); err != nil {
		return p.refused(r, "removing", err)
	}
	p.noteOperator(ctx, csv)
	// The API server may have accepted the deletion and still wait for finalizers, so read the object again.
	left, err := memberapi.Metadata(ctx, p.conn, path)
	switch {
	case memberapi.IsAbsent(err) || err == nil && left.UID != found.UID:
		r.Gone = true
	case err == nil || memberapi.AnsweredAbout(r.Entry.Group, err):
		p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits, "%s is being deleted on the member%s", r, memberapi.HeldBy(left)))
	default:
		return p.refused(r, "removing", err)
	}
	return nil
}

// more returns the end of a message about n further objects that the message does not name; "" if n is 0.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
