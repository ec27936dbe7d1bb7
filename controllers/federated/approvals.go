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

// listApprovals reads the Approvals of this wrapper. Placement decides whether an Approval still counts.
func (p *reconciliation) listApprovals(ctx context.Context) error {
	id := v1alpha1.Identity(p.wrapper)
	list := &v1alpha1.ApprovalList{}
	if err := p.client.List(ctx, list, client.InNamespace(id.Beside()), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the approvals of %s: %w", p.key, err)
	}
	p.approvals = nil
	for i := range list.Items {
		if list.Items[i].Spec.Wrapper == (v1alpha1.ApprovedWrapper{Kind: id.Kind, Name: id.Name, UID: id.UID}) {
			p.approvals = append(p.approvals, list.Items[i])
		}
	}
	p.overwrites = overwritesOf(p.approvals)
	return nil
}

// approved returns the wrapper of this scope that an Approval names.
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
