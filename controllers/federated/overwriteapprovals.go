// SPDX-License-Identifier: Apache-2.0

package federated

import "github.com/fairlead-dev/fairlead/apis/v1alpha1"

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
