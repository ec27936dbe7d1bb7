// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// pathOf is where a recorded object is served now. It is nil where there is nothing more to do about it now:
// it is gone, or there is trouble that says why that cannot be told.
func (p *pass) pathOf(ctx context.Context, r *removal) ([]string, error) {
	mapping, err := p.conn.Mapping(ctx, r.groupKind())
	switch {
	case meta.IsNoMatchError(err):
		return nil, p.withoutKind(ctx, r)
	case err != nil && answeredAbout(r.entry.Group, err):
		p.cannotTell(r, err)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("finding how member %s serves %s: %w", p.conn.Name(), r.entry.Kind, err)
	}
	if (mapping.Scope.Name() == meta.RESTScopeNameNamespace) != (p.want.Wrapper.Kind == v1alpha1.KindFederated) {
		// Of the wrong scope it was refused, and never there.
		r.gone = true
		return nil, nil
	}
	gvr := mapping.Resource
	gvr.Resource = r.entry.Resource
	return member.Path(gvr, p.want.Wrapper.Namespace, r.entry.Name), nil
}

// withoutKind forgets an object whose kind the member serves no more, and with which it went: but only when
// the whole group was heard, and there is no definition left that would bring it back.
func (p *pass) withoutKind(ctx context.Context, r *removal) error {
	served, err := discovery.Serves(ctx, p.conn.REST(), r.groupKind())
	if err == nil && !served && member.ServedEverywhere(r.groupKind()) {
		// Where an API is switched off its objects stay, and are there again with it.
		p.trouble = append(p.trouble, trouble{state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonRemovalWaits, retry: retrySoon,
			message: fmt.Sprintf("%s may still be there: the member does not serve %s in %s any more; switch that API on there, or set onDelete: KeepAll",
				r, r.entry.Kind, r.entry.Group)})
		return nil
	}
	if err == nil && !served && !member.Scheme.IsGroupRegistered(r.entry.Group) {
		name := r.entry.Resource + "." + r.entry.Group
		_, err = metadata(ctx, p.conn, member.Path(crds, "", name))
		if err == nil {
			p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits,
				"%s cannot be removed: its CustomResourceDefinition %s is there and not served; mend that, or delete it", r, name))
			return nil
		}
		if apierrors.IsNotFound(err) && !isPathGone(err) {
			err = nil
		}
	}
	switch {
	case err == nil && served:
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits, "%s: the member serves %s again", r, r.entry.Kind))
	case err == nil:
		r.gone = true
	case answeredAbout(r.entry.Group, err):
		p.cannotTell(r, err)
	default:
		return fmt.Errorf("finding how member %s serves %s: %w", p.conn.Name(), r.entry.Kind, err)
	}
	return nil
}

// cannotTell keeps an entry of which it cannot be told whether its object is there.
func (p *pass) cannotTell(r *removal, err error) {
	if apierrors.IsForbidden(err) && isRBAC(err.Error()) {
		t := explainWithout("get", "removing", r.String(), err)
		t.message += "; or set onDelete: KeepAll"
		p.trouble = append(p.trouble, t)
		return
	}
	p.trouble = append(p.trouble, trouble{state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonRemovalWaits, retry: retrySoon,
		message: fmt.Sprintf("%s may still be there, its kind is not served (mend that, or set onDelete: KeepAll): %s", r, err)})
}
