// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// resolver finds out how the member serves the kinds of one rendering: the resource name and the scope of each.
type resolver struct {
	conn    *member.Conn
	desired *plan.Desired
	trouble *memberapi.Troubles
}

// resolve makes an item for each object of the rendering, and finds out how the member serves the object's kind. It
// refuses an object, with trouble, if the member does not serve the kind, or if the kind's scope there (namespaced or
// not) does not fit the wrapper. It goes on with the other objects.
func (r *resolver) resolve(ctx context.Context, rendering *render.Rendering) ([]*item, error) {
	if r.desired.Leaving() {
		return nil, nil
	}
	objects := rendering.Objects
	items := make([]*item, 0, len(objects))
	for i := range objects {
		object := &objects[i]
		it := &item{object: object, entry: v1alpha1.InventoryEntry{
			Group: object.GVK.Group, Kind: object.GVK.Kind, Name: object.Name,
			State: v1alpha1.EntryPending, Rendering: object.Digest,
		}}
		items = append(items, it)
		if err := object.Reserved(); err != nil {
			// Admission and rendering refuse such an object too. But a client can bypass admission, so the pass checks again.
			it.refused = true
			r.trouble.Add(memberapi.Stalled(v1alpha1.ReasonSpecInvalid, "Fairlead does not deliver %s: %s", memberapi.Ref(object.GVK.Kind, object.Name), err))
			continue
		}
		if err := r.mapItem(ctx, it); err != nil {
			return items, err
		}
	}
	return items, nil
}

// mapItem finds out the resource name and the scope of the object's kind on the member. If it cannot, it refuses the
// item.
func (r *resolver) mapItem(ctx context.Context, it *item) error {
	gvk := it.object.GVK
	mapping, err := r.conn.Mapping(ctx, gvk.GroupKind(), gvk.Version)
	retry := time.Duration(0) // zero: no timer is needed, because the collector reports when the member serves the kind
	if meta.IsNoMatchError(err) {
		// If the server of an aggregated API does not answer, its API group looks like one that does not exist. No event
		// reports when the server answers again, so the manager has to retry.
		switch _, discoveryErr := discovery.Serves(ctx, r.conn.REST(), gvk.GroupKind()); {
		case apierrors.IsNotFound(discoveryErr):
			retry = plan.RetrySoon // discovery contradicts itself because the member is just adding or removing the group
		case discoveryErr != nil:
			err = discoveryErr
		}
	}
	switch {
	case meta.IsNoMatchError(err):
		it.refused = true
		r.trouble.Add(memberapi.Waiting(retry, v1alpha1.ReasonAPINotServed,
			"%s: the member does not serve %s in %s; the manager delivers it once its CRD or operator is installed there; "+
				"if apiVersion or kind is wrong, correct it", memberapi.Ref(gvk.Kind, it.object.Name), gvk.Kind, gvk.GroupVersion()))
		return nil
	case err != nil && memberapi.AnsweredAbout(gvk.Group, err):
		it.refused = true
		r.trouble.Add(memberapi.Explain("finding out how the member serves", memberapi.Ref(gvk.Kind, it.object.Name), err))
		return nil
	case err != nil:
		return fmt.Errorf("finding out how member %s serves kind %s: %w", r.conn.Name(), gvk.Kind, err)
	}
	it.entry.Resource = mapping.Resource.Resource
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	if namespaced != (r.desired.Wrapper.Kind == v1alpha1.KindFederated) {
		it.refused = true
		r.trouble.Add(scopeMismatch(it, namespaced))
		return nil
	}
	it.mapping = mapping
	return nil
}

func scopeMismatch(it *item, namespaced bool) memberapi.Trouble {
	if namespaced {
		return memberapi.Stalled(v1alpha1.ReasonScopeMismatch,
			"%s is namespaced on this member: wrap it in a Federated of its namespace, not in a ClusterFederated",
			memberapi.Ref(it.object.GVK.Kind, it.object.Name))
	}
	return memberapi.Stalled(v1alpha1.ReasonScopeMismatch,
		"%s is cluster-scoped on this member: wrap it in a ClusterFederated, not in a Federated", memberapi.Ref(it.object.GVK.Kind, it.object.Name))
}
