// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// hearOverwrites reads which Deliveries a person has said may be written over. Of two words about one
// member the later one counts.
func (p *pass) hearOverwrites(ctx context.Context) error {
	list := &v1alpha1.ApprovalList{}
	if err := p.client.List(ctx, list, client.InNamespace(p.revisionNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the Approvals of %s: %w", p.key, err)
	}
	p.overwrites = make(map[string]*v1alpha1.DeliveryVersion)
	said := make(map[string]*v1alpha1.Approval)
	for i := range list.Items {
		a := &list.Items[i]
		if a.Spec.Allow != v1alpha1.AllowOverwrite || a.DeletionTimestamp != nil || a.Spec.Wrapper.Kind != p.key.Kind ||
			a.Spec.Wrapper.Name != p.key.Name || a.Spec.Wrapper.UID != p.wrapper.GetUID() {
			continue
		}
		for _, o := range a.Spec.Overwrites {
			if before := said[o.Cluster]; before == nil || later(a, before) {
				said[o.Cluster], p.overwrites[o.Cluster] = a, &v1alpha1.DeliveryVersion{UID: o.UID, Generation: o.Generation}
			}
		}
	}
	return nil
}

func later(a, b *v1alpha1.Approval) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name > b.Name
}

// allowed is the wrapper that an Approval is about.
func (r *Reconciler) allowed(_ context.Context, obj client.Object) []reconcile.Request {
	a, ok := obj.(*v1alpha1.Approval)
	if !ok || a.Spec.Wrapper.Kind != r.kind {
		return nil
	}
	name := types.NamespacedName{Namespace: a.Namespace, Name: a.Spec.Wrapper.Name}
	if r.kind == v1alpha1.KindClusterFederated {
		if a.Namespace != v1alpha1.SystemNamespace {
			return nil
		}
		name.Namespace = ""
	}
	return []reconcile.Request{{NamespacedName: name}}
}
