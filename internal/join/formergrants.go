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

// former is a right that a profile held in an earlier version and no longer holds. A member that was joined then
// keeps it under present names, until a person gives --allow.
type former struct {
	profile         string
	group, resource string
	// keep are the present grants that hold the former right.
	keep []string
}

var formers = []former{
	{profile: ProfileStorage, resource: "persistentvolumes", keep: []string{ProfileVolumes}},
	{profile: ProfileOLM, group: groupOLM, resource: "*", keep: []string{groupOLM + "/*"}},
	{profile: ProfileOLM, group: groupOLMv1, resource: "*", keep: []string{groupOLMv1 + "/*"}},
}

// keepFormer adds rights to the grants that the member still gives the host by a profile that has become smaller
// since, and notes it. Otherwise pushes that rely on them would stop without notice. Grants that a person names stay
// as they are.
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
		p.note("%s: the profiles grant less than when it was joined. The host can no longer write %s there; to keep it, add %s to --allow",
			p.member.cluster, list(held), list(more))
		return nil
	}
	grants, err := ParseGrants(slices.Concat(p.grants, more))
	if err != nil {
		return fmt.Errorf("keeping what %s grants the host (%s): %w", p.member.cluster, list(more), err)
	}
	p.note("%s grants the host more than the profiles hold today: %s. The join keeps it, as %s. To remove it, run `hostctl join %s --cluster-kubeconfig FILE --allow %s`",
		p.member.cluster, list(held), list(more), p.opts.Name, joined(p.grants))
	p.grants = grants
	return nil
}

// isIn reports whether a rule holds the former right.
func (f former) isIn(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.APIGroups, f.group) && slices.Contains(rule.Resources, f.resource) && slices.Contains(rule.Verbs, "create")
}

func (f former) String() string {
	if f.group == "" {
		return f.resource
	}
	return f.group + "/" + f.resource
}
