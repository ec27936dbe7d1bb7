// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// pathOf is the path at which the member serves a recorded object now. It is nil if this pass has no more to do with
// the object: it is gone, or it may still exist and trouble says why that is not known.
func (p *Pruner) pathOf(ctx context.Context, r *Removal) ([]string, error) {
	mapping, err := p.conn.Mapping(ctx, r.GroupKind())
	switch {
	case p.desired.OnDelete == v1alpha1.KeepAll && (meta.IsNoMatchError(err) || err != nil && memberapi.AnsweredAbout(r.Entry.Group, err)):
		// KeepAll is the way out that the messages below name, so it waits for no kind. The object keeps its marks.
		r.Gone = true
		return nil, nil
	case meta.IsNoMatchError(err):
		return nil, p.withoutKind(ctx, r)
	case err != nil && memberapi.AnsweredAbout(r.Entry.Group, err):
		p.cannotTell(r, err)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("finding how member %s serves %s: %w", p.conn.Name(), r.Entry.Kind, err)
	}
	if (mapping.Scope.Name() == meta.RESTScopeNameNamespace) != (p.desired.Wrapper.Kind == v1alpha1.KindFederated) {
		// The object was refused for its scope, so it was never on the member.
		r.Gone = true
		return nil, nil
	}
	gvr := mapping.Resource
	gvr.Resource = r.Entry.Resource
	return member.Path(gvr, p.desired.Wrapper.Namespace, r.Entry.Name), nil
}

// withoutKind marks an object as gone if the member no longer serves its kind. The member must have answered for the
// whole API group, and no CRD of the kind may be left. An object of a kind that every API server serves is never
// marked: it comes back when its API is switched on again.
func (p *Pruner) withoutKind(ctx context.Context, r *Removal) error {
	served, err := discovery.Serves(ctx, p.conn.REST(), r.GroupKind())
	if err == nil && !served && member.ServedEverywhere(r.GroupKind()) {
		// If the API is only switched off, its objects stay, and appear again with it.
		p.trouble.Add(memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon,
			Message: fmt.Sprintf("%s may still be there: the member does not serve %s in %s any more; switch that API on there, or set onDelete: KeepAll",
				r, r.Entry.Kind, r.Entry.Group)})
		return nil
	}
	if err == nil && !served && !member.Scheme.IsGroupRegistered(r.Entry.Group) {
		name := r.Entry.Resource + "." + r.Entry.Group
		_, err = memberapi.Metadata(ctx, p.conn, memberapi.CRDPath(name))
		if err == nil {
			p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
				"%s cannot be removed: CustomResourceDefinition %s exists there and is not served. Repair it (its conditions give the cause); deleting it deletes every object of the kind", r, name))
			return nil
		}
		if apierrors.IsNotFound(err) && !memberapi.IsPathGone(err) {
			err = nil
		}
	}
	switch {
	case err == nil && served:
		p.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits, "%s is not removed yet: the member has begun to serve %s again", r, r.Entry.Kind))
	case err == nil:
		r.Gone = true
	case memberapi.AnsweredAbout(r.Entry.Group, err):
		p.cannotTell(r, err)
	default:
		return fmt.Errorf("finding how member %s serves %s: %w", p.conn.Name(), r.Entry.Kind, err)
	}
	return nil
}

// cannotTell keeps an entry and adds trouble, if it is unknown whether the object still exists.
func (p *Pruner) cannotTell(r *Removal, err error) {
	if apierrors.IsForbidden(err) && memberapi.IsRBAC(err.Error()) {
		t := memberapi.ExplainWithout("get", "removing", r.String(), err)
		t.Message += "; or set onDelete: KeepAll"
		p.trouble.Add(t)
		return
	}
	p.trouble.Add(memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon,
		Message: fmt.Sprintf("%s may still exist on member %s: its API there does not answer as it should. Repair the server of that API on the member, "+
			"or set spec.onDelete: KeepAll to leave the object there: %s", r, p.conn.Name(), err)})
}
