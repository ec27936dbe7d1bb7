// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// LetCollectorRead gives the member's collector the right to read these API groups, which the member began to serve after
// the join. It is for a member that granted the host every group. The collector's ClusterRole there names each group (see
// permissions.CollectorReads), and lacks the groups that the member did not serve at the join. If the ClusterRole has all
// the groups, LetCollectorRead writes nothing.
func LetCollectorRead(ctx context.Context, member client.Client, groups ...string) error {
	role := &rbacv1.ClusterRole{}
	if err := member.Get(ctx, client.ObjectKey{Name: permissions.CollectorGranted}, role); err != nil {
		return fmt.Errorf("reading ClusterRole %s: %w", permissions.CollectorGranted, err)
	}
	var missing []string
	for _, group := range slices.Compact(slices.Sorted(slices.Values(groups))) {
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, "*")
		}) {
			missing = append(missing, group)
			role.Rules = append(role.Rules, permissions.ReadGroup(group))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := member.Update(ctx, role); err != nil {
		return fmt.Errorf("letting the collector read %s by ClusterRole %s: %w", strings.Join(missing, ", "), permissions.CollectorGranted, err)
	}
	return nil
}
