// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/retention"
	"github.com/fairlead-dev/fairlead/overrides"
)

// removal is one entry on its way out.
type removal struct {
	entry v1alpha1.InventoryEntry
	// gone is whether the entry may leave the inventory: its object was seen gone, kept or released.
	gone bool
}

func (r *removal) String() string { return ref(r.entry.Kind, r.entry.Name) }

func (r *removal) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.entry.Group, Kind: r.entry.Kind}
}

// remove takes away what is no longer wanted, last installed first, rank by rank: a step begins when
// the one before it is gone, since a finalizer may need what was installed earlier.
//
// What an update drops goes after what it brings stands: under another name, or of another kind, that may be
// what takes its place, and is then all that is left. But what only restricts does not wait: it may be what
// keeps the update from coming to its end, as a quota that the same update drops. Leaving a member waits for
// nothing.
func (p *pass) remove(ctx context.Context) error {
	leaving := p.leaving
	if slices.ContainsFunc(p.items, (*item).isMissing) {
		var kept []*removal
		leaving, kept = restrictions(p.leaving)
		if len(kept) > 0 {
			p.waits = "the removal of " + kept[0].String() + more(len(kept)-1) + " waits until all else is applied"
		}
		defer func() { p.freed = slices.ContainsFunc(leaving, func(r *removal) bool { return r.gone }) }()
	}
	waitingAt, blocked := 0, false
	for _, r := range leaving {
		rank := render.InstallOrder(r.groupKind())
		if blocked && rank != waitingAt {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.wanted != nil && !p.wanted() {
			// A person may have released the wrapper from this member, or it was placed there again.
			p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonLeaving, "%s stays for now: something else is wanted since", r))
			return nil
		}
		if err := p.removeOne(ctx, r); err != nil {
			return err
		}
		if !r.gone && !blocked {
			waitingAt, blocked = rank, true
		}
	}
	return nil
}

func (p *pass) removeOne(ctx context.Context, r *removal) error {
	if r.entry.Resource == "" || p.want.OnDelete == v1alpha1.KeepAll {
		// Its kind was never served, or all is to stay as it is.
		r.gone = true
		return nil
	}
	path, err := p.pathOf(ctx, r)
	if err != nil || path == nil {
		return err
	}
	found, err := metadata(ctx, p.conn, path)
	switch {
	case isPathGone(err):
		// The version that we knew the kind by is not served any more; the object may well be there.
		p.conn.DoubtMapping(r.groupKind())
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits,
			"%s: the member serves %s in another way than before", r, r.entry.Kind))
		return nil
	case apierrors.IsNotFound(err):
		r.gone = true
		return nil
	case err != nil && answeredAbout(r.entry.Group, err):
		p.trouble = append(p.trouble, explain("removing", r.String(), err))
		return nil
	case err != nil:
		return fmt.Errorf("removing %s from member %s: %w", r, p.conn.Name(), err)
	}
	return p.letGo(ctx, r, path, found)
}

// isPathGone tells a 404 on the path itself, which the API server gives in plain text, from one on the
// object.
func isPathGone(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// letGo does with an object that is there what its author, its kind and its history ask for.
func (p *pass) letGo(ctx context.Context, r *removal, path []string, found *metav1.PartialObjectMetadata) error {
	switch {
	case !p.isMeant(r, found):
		// Somebody made another one under this name, or took it out of our hands.
		r.gone = true
		return nil
	case found.DeletionTimestamp != nil:
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits, "%s is being deleted%s", r, heldBy(found)))
		return nil
	case r.isReserved():
		p.keep(r, "it is Fairlead's own, or a system namespace")
		return nil
	case retention.IsKept(p.want.OnDelete, r.groupKind(), found.Annotations[v1alpha1.AnnotationKeep]):
		p.keep(r, retention.WhyKept(found.Annotations[v1alpha1.AnnotationKeep]))
		return nil
	case r.groupKind() == (schema.GroupKind{Kind: "Namespace"}) && !p.isOpen(found):
		p.keep(r, "the member has closed it to the host")
		return nil
	case r.entry.Adopted == v1alpha1.AdoptedYes && (p.want.OnDelete != v1alpha1.DeleteAll || holdsOthers(r.groupKind())):
		return p.giveBack(ctx, r, path, found)
	}
	if settled, err := p.spare(ctx, r, path, found); settled || err != nil {
		return err
	}
	if inside, err := p.otherThingsInside(ctx, r, found); err != nil || inside != nil {
		if inside != nil {
			p.trouble = append(p.trouble, *inside)
		}
		return err
	}
	return p.delete(ctx, r, path, found)
}

// isReserved reports whether the entry is of an object that is not federated. A version that let it through may have
// recorded it, and deleting the host's own rights would leave all else on the member for good.
func (r *removal) isReserved() bool {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(r.groupKind().WithVersion("v1")) // no rule looks at the version
	obj.SetName(r.entry.Name)
	return overrides.Reserved(obj) != nil
}

// isMeant says whether an object is the one that was delivered: it has the recorded uid; or, where the
// pass that made it died before it could record one, it carries our marks.
func (p *pass) isMeant(r *removal, found *metav1.PartialObjectMetadata) bool {
	if r.entry.UID != "" {
		return found.UID == r.entry.UID
	}
	mark := marks.ObjectPath(r.entry.Resource, r.entry.Group, found.Namespace, found.Name)
	return marks.IsOurs(found, p.want.Wrapper.UID, mark)
}

func (p *pass) giveBack(ctx context.Context, r *removal, path []string, found *metav1.PartialObjectMetadata) error {
	err := release(ctx, p.conn, path, found)
	switch {
	case err == nil, apierrors.IsNotFound(err):
		r.gone = true
		return nil
	case answeredAbout(r.entry.Group, err):
		p.trouble = append(p.trouble, explain("releasing", r.String(), err))
		return nil
	}
	return fmt.Errorf("releasing %s on member %s: %w", r, p.conn.Name(), err)
}

func (p *pass) delete(ctx context.Context, r *removal, path []string, found *metav1.PartialObjectMetadata) error {
	err := deleteExactly(ctx, p.conn, path, metav1.Preconditions{UID: &found.UID})
	switch {
	case apierrors.IsNotFound(err):
		r.gone = true
		return nil
	case err != nil && answeredAbout(r.entry.Group, err):
		p.trouble = append(p.trouble, explain("removing", r.String(), err))
		return nil
	case err != nil:
		return fmt.Errorf("removing %s from member %s: %w", r, p.conn.Name(), err)
	}
	// Accepted is not gone: see.
	left, err := metadata(ctx, p.conn, path)
	switch {
	case apierrors.IsNotFound(err) || err == nil && left.UID != found.UID:
		r.gone = true
	case err == nil || answeredAbout(r.entry.Group, err):
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits, "%s is being deleted%s", r, heldBy(left)))
	default:
		return fmt.Errorf("removing %s from member %s: %w", r, p.conn.Name(), err)
	}
	return nil
}

// more counts what a message does not name.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
