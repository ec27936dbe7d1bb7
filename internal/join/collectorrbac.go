// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GrantsEveryGroup reports whether grants hold every API group, also groups that do not exist yet.
func GrantsEveryGroup(grants []string) bool {
	return slices.ContainsFunc(grants, func(grant string) bool {
		return slices.ContainsFunc(Grants(grant), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "*") })
	})
}

// LetCollectorRead lets a member's collector read API groups that came to the member after the join. It is for
// members that granted every group. The rights of their collectors name each group (see CollectorReads), and lack the
// groups that were not served at the join. It writes nothing when all groups are there.
func LetCollectorRead(ctx context.Context, member client.Client, groups ...string) error {
	role := &rbacv1.ClusterRole{}
	if err := member.Get(ctx, client.ObjectKey{Name: collectorGranted}, role); err != nil {
		return fmt.Errorf("reading ClusterRole %s: %w", collectorGranted, err)
	}
	var missing []string
	for _, group := range sorted(groups) {
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, "*")
		}) {
			missing = append(missing, group)
			role.Rules = append(role.Rules, read(group, "*"))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := member.Update(ctx, role); err != nil {
		return fmt.Errorf("letting the collector read %s by ClusterRole %s: %w", strings.Join(missing, ", "), collectorGranted, err)
	}
	return nil
}
