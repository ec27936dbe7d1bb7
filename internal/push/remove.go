// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/member"
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
func (p *pass) remove(ctx context.Context) error {
	waitingAt, blocked := 0, false
	for _, r := range p.leaving {
		rank := render.InstallOrder(r.groupKind())
		if blocked && rank != waitingAt {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
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
	path, served, err := p.pathOf(r)
	if err != nil {
		return err
	}
	if !served {
		// The kind went, and its objects with it.
		r.gone = true
		return nil
	}
	found, err := p.metadata(ctx, path)
	switch {
	case isPathGone(err):
		// The version that we knew the kind by is not served any more; the object may well be there.
		p.conn.ForgetMappings()
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits,
			"%s: the member serves %s in another way than before", r, r.entry.Kind))
		return nil
	case apierrors.IsNotFound(err):
		r.gone = true
		return nil
	case err != nil && answered(err):
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
	case isKept(p.want.OnDelete, r.groupKind(), found.Annotations[v1alpha1.AnnotationKeep]):
		r.gone = true
		return nil
	case r.entry.Adopted == v1alpha1.AdoptedYes && (p.want.OnDelete != v1alpha1.DeleteAll || holdsOthers(r.groupKind())):
		return p.giveBack(ctx, r, path, found)
	}
	if inside, err := p.otherThingsInside(ctx, r, found); err != nil || inside != nil {
		if inside != nil {
			p.trouble = append(p.trouble, *inside)
		}
		return err
	}
	return p.delete(ctx, r, path, found)
}

// isMeant says whether an object is the one that was delivered: it has the recorded uid; or, where the
// pass that made it died before it could record one, it carries our marks.
func (p *pass) isMeant(r *removal, found *metav1.PartialObjectMetadata) bool {
	if r.entry.UID != "" {
		return found.UID == r.entry.UID
	}
	mark := federate.ObjectPath(r.entry.Resource, r.entry.Group, found.Namespace, found.Name)
	return federate.IsOurs(found, p.want.Wrapper.UID, mark)
}

func (p *pass) giveBack(ctx context.Context, r *removal, path []string, found *metav1.PartialObjectMetadata) error {
	err := release(ctx, p.conn, path, found)
	switch {
	case err == nil, apierrors.IsNotFound(err):
		r.gone = true
		return nil
	case answered(err):
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
	case err != nil && answered(err):
		p.trouble = append(p.trouble, explain("removing", r.String(), err))
		return nil
	case err != nil:
		return fmt.Errorf("removing %s from member %s: %w", r, p.conn.Name(), err)
	}
	// Accepted is not gone: see.
	left, err := p.metadata(ctx, path)
	switch {
	case apierrors.IsNotFound(err) || err == nil && left.UID != found.UID:
		r.gone = true
	case err == nil || answered(err):
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits, "%s is being deleted%s", r, heldBy(left)))
	default:
		return fmt.Errorf("removing %s from member %s: %w", r, p.conn.Name(), err)
	}
	return nil
}

// pathOf is where a recorded object is served now.
func (p *pass) pathOf(r *removal) (path []string, served bool, err error) {
	mapping, err := p.conn.Mapping(r.groupKind())
	if meta.IsNoMatchError(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("finding how member %s serves %s: %w", p.conn.Name(), r.entry.Kind, err)
	}
	if (mapping.Scope.Name() == meta.RESTScopeNameNamespace) != (p.want.Wrapper.Kind == v1alpha1.KindFederated) {
		// Of the wrong scope it was refused, and never there.
		return nil, false, nil
	}
	gvr := mapping.Resource
	gvr.Resource = r.entry.Resource
	return member.Path(gvr, p.want.Wrapper.Namespace, r.entry.Name), true, nil
}
