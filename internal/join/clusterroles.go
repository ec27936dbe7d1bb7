// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// role is one ClusterRole and its binding on the member.
type role struct {
	name string
	// rules are the rules of the role; Kubernetes fills those of an aggregated role.
	rules []rbacv1.PolicyRule
	// aggregate is the label by which an aggregated role gathers others.
	aggregate string
	// account is the service account that it is bound to.
	account string
}

// roleOf is the ClusterRole that holds a grant; all single GROUP/RESOURCEs share one.
func roleOf(grant string) string {
	if slices.Contains(profiles, grant) {
		return HostAccount + "-" + grant
	}
	return HostAccount + "-resources"
}

// roles returns all ClusterRoles that the join writes to the member. The first one owns the others.
func (p *joiner) roles(served Served) []role {
	roles := []role{{name: HostAccount, rules: hostRules(), account: HostAccount}}
	var singles []rbacv1.PolicyRule
	for _, grant := range p.grants {
		if slices.Contains(profiles, grant) {
			roles = append(roles, role{name: roleOf(grant), rules: Grants(grant), account: HostAccount})
		} else {
			singles = append(singles, Grants(grant)...)
		}
	}
	if len(singles) > 0 {
		roles = append(roles, role{name: HostAccount + "-resources", rules: singles, account: HostAccount})
	}
	return append(roles,
		role{name: HostAccount + "-aggregated", aggregate: v1alpha1.LabelAggregateToHost, account: HostAccount},
		role{name: CollectorAccount, rules: collectorRules(), account: CollectorAccount},
		role{name: collectorGranted, rules: CollectorReads(p.grants, served), account: CollectorAccount},
		role{name: CollectorAccount + "-aggregated", aggregate: v1alpha1.LabelAggregateToCollector, account: CollectorAccount},
	)
}

// grantRoles are the names of the ClusterRoles that grants may have.
func grantRoles() []string {
	names := []string{HostAccount + "-resources"}
	for _, profile := range profiles {
		names = append(names, roleOf(profile))
	}
	return names
}

func (r role) fill(have *rbacv1.ClusterRole) {
	if r.aggregate == "" {
		have.Rules = r.rules
		return
	}
	have.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{r.aggregate: "true"}}}}
}

func subjects(account string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.SystemNamespace, Name: account}}
}
