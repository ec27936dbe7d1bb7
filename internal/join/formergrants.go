// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// former is a right that a profile included in an earlier version, and does not include today. A member that an earlier
// version joined gives the host this right. A join without --allow adds the grants in keep, so that the host does not lose
// the right.
type former struct {
	profile         string
	group, resource string
	// keep are today's grants that include the right.
	keep []string
}

var formers = []former{
	{profile: ProfileStorage, resource: "persistentvolumes", keep: []string{ProfileVolumes}},
	{profile: ProfileOLM, group: groupOLM, resource: "*", keep: []string{groupOLM + "/*"}},
	{profile: ProfileOLM, group: groupOLMv1, resource: "*", keep: []string{groupOLMv1 + "/*"}},
}

// keepFormer finds the former rights that the member's ClusterRoles still give the host. Without --allow, keepFormer adds
// grants that include these rights, and tells the user: if the join took them away, pushes that need them would fail. With
// --allow, keepFormer leaves the grants unchanged, and tells the user which rights the host loses.
func (p *joiner) keepFormer(ctx context.Context) error {
	told := len(p.opts.Allow) > 0
	var more, held []string
	for _, f := range formers {
		if !slices.Contains(p.grants, f.profile) {
			continue
		}
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: roleOf(f.profile)}}
		err := p.member.get(ctx, role)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading what %s grants the host: %w", p.member.cluster, err)
		}
		if slices.ContainsFunc(role.Rules, f.isIn) {
			held = append(held, f.String())
			more = append(more, f.keep...)
		}
	}
	more = slices.DeleteFunc(more, func(grant string) bool { return slices.Contains(p.grants, grant) })
	switch {
	case len(more) == 0:
		return nil
	case told:
		p.note("%s: since its last join the profiles have become smaller. The host can no longer write %s there; to keep these rights, add %s to --allow",
			p.member.cluster, list(held), list(more))
		return nil
	}
	grants, err := ParseGrants(slices.Concat(p.grants, more))
	if err != nil {
		return fmt.Errorf("adding the grants %s, so that the host keeps rights that an earlier version gave it on %s: %w", list(more), p.member.cluster, err)
	}
	p.note("%s: the host has rights there that its profiles no longer include: %s. The join keeps them by adding the grants %s. To remove them, run "+
		"`hostctl join %s --cluster-kubeconfig FILE --allow %s`",
		p.member.cluster, list(held), list(more), p.opts.Name, joined(p.grants))
	p.grants = grants
	return nil
}

// isIn reports whether an RBAC rule includes the former right, the right to create objects of its resource.
func (f former) isIn(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.APIGroups, f.group) && slices.Contains(rule.Resources, f.resource) && slices.Contains(rule.Verbs, "create")
}

func (f former) String() string {
	if f.group == "" {
		return f.resource
	}
	return f.group + "/" + f.resource
}
