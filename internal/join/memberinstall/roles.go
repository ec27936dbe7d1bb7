// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// putRoles grants both accounts their rights at cluster scope. The first ClusterRole owns all others, so the member's garbage
// collector deletes them together with the first. putRoles returns the ClusterRoles.
func putRoles(ctx context.Context, p cluster.Pair, grants []string) ([]client.Object, error) {
	served, err := readServed(p.Member)
	if err != nil {
		return nil, err
	}
	var t steps.Tally
	var base *rbacv1.ClusterRole
	var roles []client.Object
	for _, r := range permissions.ClusterRoles(grants, served) {
		have, outcome, err := cluster.Put(ctx, p.Member, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, func(have *rbacv1.ClusterRole) {
			r.Fill(have)
			if base != nil {
				cluster.BelongTo(have, base)
			}
		})
		if err != nil {
			return nil, explainGrant(err, p.Member.Name)
		}
		t.Add(outcome)
		if base == nil {
			base = have
		}
		roles = append(roles, have)
		_, outcome, err = cluster.Put(ctx, p.Member, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, func(have *rbacv1.ClusterRoleBinding) {
			have.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.Name}
			have.Subjects = permissions.Subjects(r.Account)
			cluster.BelongTo(have, base)
		})
		if err != nil {
			return nil, explainGrant(err, p.Member.Name)
		}
		t.Add(outcome)
	}
	p.Steps.Done(t.Outcome(), p.Member.Name+": cluster roles for "+strings.Join(grants, ", "), "")
	return roles, nil
}

// dropRoles removes the ClusterRoles of grants that an earlier join had and this join does not have.
func dropRoles(ctx context.Context, p cluster.Pair, grants []string) error {
	wanted := make(map[string]bool)
	for _, grant := range grants {
		wanted[permissions.RoleOf(grant)] = true
	}
	for _, name := range permissions.GrantRoles() {
		if wanted[name] {
			continue
		}
		var t steps.Tally
		for _, obj := range []client.Object{
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}},
		} {
			outcome, err := p.Member.Remove(ctx, obj)
			if err != nil {
				return err
			}
			t.Add(outcome)
		}
		if t.Removed() > 0 {
			p.Steps.Done(steps.Removed, p.Member.Name+": cluster role "+name, "--allow no longer includes it")
		}
	}
	return nil
}

// putSystemRoles grants both accounts their rights in fairlead-system. The host's account owns the Roles and RoleBindings,
// so the member's garbage collector deletes them after that account.
func putSystemRoles(ctx context.Context, member cluster.Cluster, collector v1alpha1.CollectorMode, owner client.Object) (steps.Outcome, error) {
	var t steps.Tally
	for _, r := range permissions.SystemRoles(collector) {
		meta := metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: r.Name}
		_, outcome, err := cluster.Put(ctx, member, &rbacv1.Role{ObjectMeta: meta}, func(have *rbacv1.Role) {
			have.Rules = r.Rules
			cluster.BelongTo(have, owner)
		})
		if err != nil {
			return "", explainGrant(err, member.Name)
		}
		t.Add(outcome)
		_, outcome, err = cluster.Put(ctx, member, &rbacv1.RoleBinding{ObjectMeta: meta}, func(have *rbacv1.RoleBinding) {
			have.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: r.Name}
			have.Subjects = permissions.Subjects(r.Account)
			cluster.BelongTo(have, owner)
		})
		if err != nil {
			return "", explainGrant(err, member.Name)
		}
		t.Add(outcome)
	}
	return t.Outcome(), nil
}

// readServed reads which API groups and which core resources the member serves. CollectorReads needs them for grants that
// include all groups or the whole core group.
func readServed(member cluster.Cluster) (permissions.Served, error) {
	d, err := discoveryclient.NewDiscoveryClientForConfig(member.Config)
	if err != nil {
		return permissions.Served{}, fmt.Errorf("connecting to %s: %w", member.Name, err)
	}
	groups, err := d.ServerGroups()
	if err != nil {
		return permissions.Served{}, fmt.Errorf("asking %s for its API groups: %w", member.Name, err)
	}
	s := permissions.Served{Groups: []string{v1alpha1.Group}} // discovery may not list Fairlead's own group yet, if this join has just created its CRDs
	for _, g := range groups.Groups {
		if g.Name != "" {
			s.Groups = append(s.Groups, g.Name)
		}
	}
	core, err := d.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return permissions.Served{}, fmt.Errorf("asking %s for its resources: %w", member.Name, err)
	}
	for _, r := range core.APIResources {
		if slices.Contains(r.Verbs, "list") {
			s.Core = append(s.Core, r.Name)
		}
	}
	return s, nil
}
