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
	// rules are the rules of the role; nil for an aggregated role, whose rules Kubernetes fills in.
	rules []rbacv1.PolicyRule
	// aggregate is the label of the ClusterRoles whose rules an aggregated role collects; "" for an ordinary role.
	aggregate string
	// account is the service account to which the role is bound.
	account string
}

// roleOf returns the name of the ClusterRole that contains a grant. All grants of the form GROUP/RESOURCE share one
// ClusterRole.
func roleOf(grant string) string {
	if slices.Contains(profiles, grant) {
		return HostAccount + "-" + grant
	}
	return HostAccount + "-resources"
}

// roles returns all ClusterRoles that the join writes to the member. The first ClusterRole owns all others.
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

// grantRoles returns the names of all ClusterRoles that a join may create for grants.
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
