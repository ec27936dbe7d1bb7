// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/retention"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/overrides"
)

// Pruner removes recorded objects from a member that are no longer desired. It serves one pass.
type Pruner struct {
	conn    *member.Conn
	desired *plan.Desired
	// isDesired reports whether the desired state of the pass is still the present one; nil counts as always true.
	isDesired func() bool
	// isOpen reports whether the member lets the host write to a Namespace.
	isOpen func(*metav1.PartialObjectMetadata) bool
	// trouble collects the problems with single objects.
	trouble *memberapi.Troubles
	// claims finds the objects that the claims lead to.
	claims *claimOwners

	// Waits names the removal that waits until all other objects are applied; "" when none waits. Set by Remove.
	Waits string
	// Kept are the objects that stay on the member, each with the reason. Set by Remove.
	Kept []plan.Kept
	// Freed reports whether an object is gone that may have blocked other objects, so that these may be applied now.
	// Set by Remove.
	Freed bool
}

// New makes a pruner for one pass. isDesired reports whether the desired state of the pass is still the present one;
// nil counts as always true. isOpen reports whether the member lets the host write to a Namespace. trouble receives
// the problems with single objects.
func New(conn *member.Conn, desired *plan.Desired, isDesired func() bool, isOpen func(*metav1.PartialObjectMetadata) bool, trouble *memberapi.Troubles) *Pruner {
	return &Pruner{conn: conn, desired: desired, isDesired: isDesired, isOpen: isOpen, trouble: trouble,
		claims: &claimOwners{conn: conn, namespace: desired.Wrapper.Namespace}}
}

// Removal is one inventory entry whose object is being removed.
type Removal struct {
	Entry v1alpha1.InventoryEntry
	// Gone reports whether the entry may leave the inventory: the pass saw its object gone, or kept or released it.
	Gone bool
}

func (r *Removal) String() string { return memberapi.Ref(r.Entry.Kind, r.Entry.Name) }

// GroupKind is the group and kind of the object.
func (r *Removal) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Entry.Group, Kind: r.Entry.Kind}
}

// Remove removes the objects that are no longer desired, last installed first, rank by rank. A rank begins when the
// previous one is gone, since a finalizer may need objects that were installed earlier.
//
// Objects that an update drops go after its new objects are applied. A new object, of another name or kind, may take
// the place of the old one, and after the removal only the new one is left. Kinds that only restrict do not wait:
// such an object may block the update, as a quota does that the same update drops. Leaving a member waits for
// nothing. isMissing reports whether a desired object is missing.
func (p *Pruner) Remove(ctx context.Context, leaving []*Removal, isMissing bool) error {
	if isMissing {
		var kept []*Removal
		leaving, kept = restrictions(leaving)
		if len(kept) > 0 {
			p.Waits = "the removal of " + kept[0].String() + more(len(kept)-1) + " waits until all else is applied"
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
			// A person may have released the wrapper from this member, or it was placed there again.
			p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonLeaving, "%s stays for now: the desired state has changed since this push began", r))
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
		// The member never served the kind, or the policy keeps every object. An adopted object needs a release. If the
		// member has lost the record of the adoption, the object keeps its marks. It still says that it is adopted, so a
		// later wrapper of this name does not delete it.
		r.Gone = true
		return nil
	}
	path, err := p.pathOf(ctx, r)
	if err != nil || path == nil {
		return err
	}
	found, err := memberapi.Metadata(ctx, p.conn, path)
	switch {
	case memberapi.IsPathGone(err):
		// The member no longer serves the version in which the kind was mapped; the object may still exist.
		p.conn.DoubtMapping(r.GroupKind())
		p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"%s: the member no longer serves %s where it did; the manager looks the kind up again", r, r.Entry.Kind))
		return nil
	case err != nil:
		return p.refused(r, "removing", err)
	}
	return p.removeExisting(ctx, r, path, found)
}

// refused acts on an error about one object. When the object is gone, its entry may leave the inventory. A refusal is
// trouble, and the other objects go on. All other errors concern the member as a whole, and refused returns them.
func (p *Pruner) refused(r *Removal, verb string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		r.Gone = true
		return nil
	case memberapi.AnsweredAbout(r.Entry.Group, err):
		p.trouble.Add(memberapi.Explain(verb, r.String(), err))
		return nil
	}
	return fmt.Errorf("%s %s on member %s: %w", verb, r, p.conn.Name(), err)
}

// removeExisting deletes, releases or keeps an existing object, by its annotations, its kind and its history.
func (p *Pruner) removeExisting(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) error {
	switch {
	case !p.isMeant(r, found):
		// Another client made a new object under this name, or removed Fairlead's marks.
		r.Gone = true
		return nil
	case found.DeletionTimestamp != nil && p.desired.OnDelete == v1alpha1.KeepAll:
		// Another client deletes the object. KeepAll waits for no finalizer of theirs.
		r.Gone = true
		return nil
	case found.DeletionTimestamp != nil:
		p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits, "%s is being deleted%s", r, memberapi.HeldBy(found)))
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
		p.keep(r, "the member has closed it to the host")
		return nil
	}
	if settled, err := p.spare(ctx, r, path, found); settled || err != nil {
		return err
	}
	if contained, err := p.othersContents(ctx, r, found); err != nil || contained != nil {
		if contained != nil {
			p.trouble.Add(*contained)
		}
		return err
	}
	return p.delete(ctx, r, path, found)
}

// isAdopted reports whether Fairlead adopted the object. The Delivery or the object may say so: a member whose CRD of
// Deliveries was replaced by an older one has lost it from the Delivery.
func (r *Removal) isAdopted(found *metav1.PartialObjectMetadata) bool {
	return r.Entry.Adopted == v1alpha1.AdoptedYes || marks.IsAdopted(found, r.mark(found))
}

// isReleased reports whether an adopted object stays and loses Fairlead's marks. The member's users expect no marks on
// an object that Fairlead has left. A Namespace that the member has closed is the exception, since the host must not
// write to it.
func (p *Pruner) isReleased(r *Removal, found *metav1.PartialObjectMetadata) bool {
	if !r.isAdopted(found) || r.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) && !p.isOpen(found) {
		return false
	}
	return p.desired.OnDelete != v1alpha1.DeleteAll || holdsOthers(r.GroupKind()) || found.Annotations[v1alpha1.AnnotationKeep] == "true"
}

// isReserved reports whether the entry names an object that Fairlead does not federate. An earlier version that let
// it through may have recorded it. Deleting the host's own rights would leave all other objects on the member for
// good.
func (r *Removal) isReserved() bool {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(r.GroupKind().WithVersion("v1")) // no rule looks at the version
	obj.SetName(r.Entry.Name)
	return overrides.Reserved(obj) != nil
}

// isMeant reports whether an object is the delivered one. It has the recorded uid. If the pass that made it died
// before it recorded one, it carries Fairlead's marks.
func (p *Pruner) isMeant(r *Removal, found *metav1.PartialObjectMetadata) bool {
	if r.Entry.UID != "" {
		return found.UID == r.Entry.UID
	}
	return marks.IsOurs(found, p.desired.Wrapper.UID, r.mark(found))
}

// mark is the AnnotationObject that the object of the entry has.
func (r *Removal) mark(found *metav1.PartialObjectMetadata) string {
	return marks.ObjectPath(r.Entry.Resource, r.Entry.Group, found.Namespace, found.Name)
}

// Identify completes entries of a Delivery that is being taken over from an earlier wrapper of this name. A push of that
// wrapper may have made an object and died before it recorded the uid. The object carries the marks of that wrapper and
// the listed rendering. Later the manager could not tell it from an object that the earlier wrapper left to the member.
func (p *Pruner) Identify(ctx context.Context, leaving []*Removal, earlier types.UID) error {
	for _, r := range leaving {
		if r.Entry.UID != "" || r.Entry.Resource == "" || p.desired.OnDelete == v1alpha1.KeepAll {
			continue
		}
		path, err := p.pathOf(ctx, r)
		if err != nil {
			return err
		}
		if path == nil {
			continue
		}
		found, err := memberapi.Metadata(ctx, p.conn, path)
		if err != nil && !memberapi.AnsweredAbout(r.Entry.Group, err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("looking at %s on member %s: %w", r, p.conn.Name(), err)
		}
		if err == nil && marks.IsOurs(found, earlier, r.mark(found)) && r.Entry.Rendering != "" &&
			found.Annotations[v1alpha1.AnnotationRendering] == r.Entry.Rendering {
			r.Entry.UID = found.UID
		}
	}
	return nil
}

func (p *Pruner) giveBack(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) error {
	if err := memberapi.Release(ctx, p.conn, path, found); err != nil {
		return p.refused(r, "releasing", err)
	}
	r.Gone = true
	return nil
}

func (p *Pruner) delete(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) error {
	if err := memberapi.DeleteExactly(ctx, p.conn, path, metav1.Preconditions{UID: &found.UID}); err != nil {
		return p.refused(r, "removing", err)
	}
	// An accepted deletion may still wait for a finalizer, so the manager reads the object.
	left, err := memberapi.Metadata(ctx, p.conn, path)
	switch {
	case apierrors.IsNotFound(err) || err == nil && left.UID != found.UID:
		r.Gone = true
	case err == nil || memberapi.AnsweredAbout(r.Entry.Group, err):
		p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits, "%s is being deleted%s", r, memberapi.HeldBy(left)))
	default:
		return p.refused(r, "removing", err)
	}
	return nil
}

// more counts the objects that a message does not name.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
