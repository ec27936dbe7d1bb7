// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// listApprovals returns the Approvals of a wrapper. Packages placement and rollout decide which of these Approvals are
// still valid.
func listApprovals(ctx context.Context, host client.Reader, id v1alpha1.WrapperIdentity) (approvals []v1alpha1.Approval, err error) {
	list := &v1alpha1.ApprovalList{}
	if err := host.List(ctx, list, client.InNamespace(id.Beside()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Approvals of %s: %w", push.KeyOf(id), err)
	}
	for i := range list.Items {
		if list.Items[i].Spec.Wrapper == (v1alpha1.WrapperReference{Kind: id.Kind, Name: id.Name, UID: id.UID}) {
			approvals = append(approvals, list.Items[i])
		}
	}
	return approvals, nil
}

// overwritesOf returns, by member name, the Delivery that an Approval allows the manager to overwrite on that member.
// If several Approvals name the same member, the newest of them decides.
func overwritesOf(approvals []v1alpha1.Approval) map[string]*v1alpha1.DeliveryVersion {
	overwrites, latest := make(map[string]*v1alpha1.DeliveryVersion), make(map[string]*v1alpha1.Approval)
	for i := range approvals {
		a := &approvals[i]
		if a.Spec.Allow != v1alpha1.AllowOverwrite || a.DeletionTimestamp != nil {
			continue
		}
		for _, o := range a.Spec.Overwrites {
			if before := latest[o.Cluster]; before == nil || later(a, before) {
				latest[o.Cluster], overwrites[o.Cluster] = a, &v1alpha1.DeliveryVersion{UID: o.UID, Generation: o.Generation}
			}
		}
	}
	return overwrites
}

func later(a, b *v1alpha1.Approval) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name > b.Name
}
