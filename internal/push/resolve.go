// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
)

// resolve finds out how the member serves each kind. A kind that it does not serve, or serves in the
// other scope, holds up only its own objects.
func (p *pass) resolve(ctx context.Context) error {
	if p.want.Leaving() {
		return nil
	}
	objects := p.rendering.Objects
	p.items = make([]*item, 0, len(objects))
	for i := range objects {
		object := &objects[i]
		it := &item{object: object, entry: v1alpha1.InventoryEntry{
			Group: object.GVK.Group, Kind: object.GVK.Kind, Name: object.Name,
			State: v1alpha1.EntryPending, Rendering: object.Digest,
		}}
		p.items = append(p.items, it)
		if err := object.Reserved(); err != nil {
			// Admission and rendering have refused it: this is for what got around both.
			it.refused = true
			p.trouble = append(p.trouble, stalled(v1alpha1.ReasonSpecInvalid, "%s is not federated: %s", ref(object.GVK.Kind, object.Name), err))
			continue
		}
		if err := p.mapItem(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

// mapItem asks how the member serves one object's kind.
func (p *pass) mapItem(ctx context.Context, it *item) error {
	gvk := it.object.GVK
	mapping, err := p.conn.Mapping(ctx, gvk.GroupKind(), gvk.Version)
	retry := time.Duration(0) // the collector tells when the kind has come
	if meta.IsNoMatchError(err) {
		// A group whose server is away looks like one that is not there, and nobody tells when it is back.
		switch _, unheard := discovery.Serves(ctx, p.conn.REST(), gvk.GroupKind()); {
		case apierrors.IsNotFound(unheard):
			retry = retrySoon // it is on its way, or out
		case unheard != nil:
			err = unheard
		}
	}
	switch {
	case meta.IsNoMatchError(err):
		it.refused = true
		p.trouble = append(p.trouble, waiting(retry, v1alpha1.ReasonAPINotServed,
			"%s: the member does not serve %s in %s; it follows by itself once its CRD or operator is installed there, "+
				"unless apiVersion or kind is a slip: mend it then", ref(gvk.Kind, it.object.Name), gvk.Kind, gvk.GroupVersion()))
		return nil
	case err != nil && answeredAbout(gvk.Group, err):
		it.refused = true
		p.trouble = append(p.trouble, explain("finding", ref(gvk.Kind, it.object.Name), err))
		return nil
	case err != nil:
		return fmt.Errorf("finding how member %s serves %s: %w", p.conn.Name(), gvk.Kind, err)
	}
	it.entry.Resource = mapping.Resource.Resource
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	if namespaced != (p.want.Wrapper.Kind == v1alpha1.KindFederated) {
		it.refused = true
		p.trouble = append(p.trouble, scopeMismatch(it, namespaced))
		return nil
	}
	it.mapping = mapping
	return nil
}

func scopeMismatch(it *item, namespaced bool) trouble {
	if namespaced {
		return stalled(v1alpha1.ReasonScopeMismatch,
			"%s is namespaced on this member: wrap it in a Federated of its namespace, not in a ClusterFederated",
			ref(it.object.GVK.Kind, it.object.Name))
	}
	return stalled(v1alpha1.ReasonScopeMismatch,
		"%s is cluster-scoped on this member: wrap it in a ClusterFederated, not in a Federated", ref(it.object.GVK.Kind, it.object.Name))
}
