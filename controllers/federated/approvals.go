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

// listApprovals reads the Approvals of this wrapper. Packages placement and rollout decide which of these Approvals are
// still valid.
func (p *reconciliation) listApprovals(ctx context.Context) error {
	id := v1alpha1.Identity(p.wrapper)
	list := &v1alpha1.ApprovalList{}
	if err := p.client.List(ctx, list, client.InNamespace(id.Beside()), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the Approvals of %s: %w", p.key, err)
	}
	p.approvals = nil
	for i := range list.Items {
		if list.Items[i].Spec.Wrapper == (v1alpha1.WrapperReference{Kind: id.Kind, Name: id.Name, UID: id.UID}) {
			p.approvals = append(p.approvals, list.Items[i])
		}
	}
	p.overwrites = overwritesOf(p.approvals)
	return nil
}

// approved maps an Approval to a reconcile of the wrapper that the Approval names. It returns nothing if that wrapper
// is of the other scope, or if the Approval is not in the namespace for Approvals of that wrapper.
func (r *Reconciler) approved(_ context.Context, obj client.Object) []reconcile.Request {
	approval, ok := obj.(*v1alpha1.Approval)
	if !ok || approval.Spec.Wrapper.Kind != r.kind {
		return nil
	}
	id := v1alpha1.WrapperIdentity{Kind: r.kind, Name: approval.Spec.Wrapper.Name}
	if r.kind == v1alpha1.KindFederated {
		id.Namespace = approval.Namespace
	}
	if id.Beside() != approval.Namespace {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: id.Namespace, Name: id.Name}}}
}
