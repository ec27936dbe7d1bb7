// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// PutMembership writes the Membership, which names the host of the member. It refuses to overwrite the Membership of
// another host. The only exception is the host from which this join takes the member; the argument from is the uid of that
// host.
func PutMembership(ctx context.Context, member cluster.Cluster, spec v1alpha1.MembershipSpec, from types.UID) (steps.Outcome, error) {
	var other *v1alpha1.HostIdentity
	_, outcome, err := cluster.Put(ctx, member, &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}, func(m *v1alpha1.Membership) {
		other = nil
		if uid := plain.UID(m.Spec.Host.UID); uid != "" && uid != spec.Host.UID && uid != from {
			other = m.Spec.Host.DeepCopy()
			return
		}
		m.Spec = spec
	})
	if err != nil {
		return "", err
	}
	if other != nil {
		return "", fmt.Errorf("writing the Membership of %s: another host, %q (uid %s), has joined this cluster meanwhile", member.Name, other.Name, other.UID)
	}
	return outcome, nil
}

// ClearMembershipStatus clears the status that the old host's collector wrote. Otherwise the new host would take that
// collector's heartbeat for a heartbeat of its own collector. In a dry run ClearMembershipStatus does nothing.
func ClearMembershipStatus(ctx context.Context, member cluster.Cluster) error {
	if member.DryRun {
		return nil
	}
	m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := member.Client.Status().Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)), client.FieldOwner(cluster.FieldManager))
	if err != nil {
		return fmt.Errorf("clearing the status of the Membership of %s: %w", member.Name, err)
	}
	return nil
}
