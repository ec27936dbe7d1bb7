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

// locator finds out at which URL path the member serves the objects of removals.
type locator struct {
	conn    *member.Conn
	desired *plan.Desired
	trouble *memberapi.Troubles
}

// pathOf returns the URL path at which the member serves the object of a removal now. The path is nil if this pass must
// not delete the object: r.Gone is then true, or pathOf has added trouble with the reason.
func (l *locator) pathOf(ctx context.Context, r *Removal) ([]string, error) {
	mapping, err := l.conn.Mapping(ctx, r.GroupKind())
	switch {
	case l.desired.OnDelete == v1alpha1.KeepAll && (meta.IsNoMatchError(err) || err != nil && memberapi.AnsweredAbout(r.Entry.Group, err)):
		// If the member does not serve the kind, the messages below tell a person to set KeepAll. So KeepAll must not wait
		// for the kind. The object keeps its marks.
		r.Gone = true
		return nil, nil
	case meta.IsNoMatchError(err):
		return nil, l.withoutKind(ctx, r)
	case err != nil && memberapi.AnsweredAbout(r.Entry.Group, err):
		l.cannotTell(r, err)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("finding out how member %s serves kind %s: %w", l.conn.Name(), r.Entry.Kind, err)
	}
	if (mapping.Scope.Name() == meta.RESTScopeNameNamespace) != (l.desired.Wrapper.Kind == v1alpha1.KindFederated) {
		// The scope of the kind on the member (namespaced or not) does not fit the wrapper. An earlier pass refused to apply the
		// object for that reason, so the object never was on the member.
		r.Gone = true
		return nil, nil
	}
	gvr := mapping.Resource
	gvr.Resource = r.Entry.Resource
	return member.Path(gvr, l.desired.Wrapper.Namespace, r.Entry.Name), nil
}

// withoutKind acts on a kind that the member does not serve. It sets r.Gone only if the objects of the kind are gone
// for certain: the member has answered for the whole API group, and has no CRD of the kind. Otherwise it adds trouble.
func (l *locator) withoutKind(ctx context.Context, r *Removal) error {
	served, err := discovery.Serves(ctx, l.conn.REST(), r.GroupKind())
	if err == nil && !served && member.ServedEverywhere(r.GroupKind()) {
		// The member has switched off a built-in API. It still stores the objects, and they appear again with the API.
		l.trouble.Add(memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon,
			Message: fmt.Sprintf("%s may still be on the member: the member does not serve %s in %s any more; switch that API on there, or set spec.onDelete: KeepAll",
				r, r.Entry.Kind, r.Entry.Group)})
		return nil
	}
	if err == nil && !served && !member.Scheme.IsGroupRegistered(r.Entry.Group) {
		name := r.Entry.Resource + "." + r.Entry.Group
		_, err = memberapi.Metadata(ctx, l.conn, memberapi.CRDPath(name))
		if err == nil {
			l.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
				"%s cannot be removed: the member has CustomResourceDefinition %s but does not serve it. Repair it (its conditions give the cause). "+
					"If you delete it, you delete every object of the kind", r, name))
			return nil
		}
		if memberapi.IsAbsent(err) {
			err = nil
		}
	}
	switch {
	case err == nil && served:
		l.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"%s is not removed yet: the member has just begun to serve %s again, and the manager will try again", r, r.Entry.Kind))
	case err == nil:
		r.Gone = true
	case memberapi.AnsweredAbout(r.Entry.Group, err):
		l.cannotTell(r, err)
	default:
		return fmt.Errorf("finding out how member %s serves kind %s: %w", l.conn.Name(), r.Entry.Kind, err)
	}
	return nil
}

// cannotTell adds trouble, because the manager cannot find out whether the object still exists. The entry stays.
func (l *locator) cannotTell(r *Removal, err error) {
	if apierrors.IsForbidden(err) && memberapi.IsRBAC(err.Error()) {
		t := memberapi.ExplainWithout("get", "removing", r.String(), err)
		t.Message += "; or set spec.onDelete: KeepAll"
		l.trouble.Add(t)
		return
	}
	l.trouble.Add(memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonRemovalWaits, Retry: plan.RetrySoon,
		Message: fmt.Sprintf("%s may still exist on member %s: the member's discovery of its API fails. Repair the server of that API on the member, "+
			"or leave the object there with spec.onDelete: KeepAll. The member's error: %s", r, l.conn.Name(), plan.Quote(err.Error()))})
}
