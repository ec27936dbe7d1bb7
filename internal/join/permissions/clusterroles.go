// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Role is one Role or ClusterRole on the member, and its binding.
type Role struct {
	Name string
	// Rules are the rules of the role; nil for an aggregated role, whose rules Kubernetes fills in.
	Rules []rbacv1.PolicyRule
	// aggregate is the label of the ClusterRoles whose rules an aggregated role collects; "" for an ordinary role.
	aggregate string
	// Account is the service account to which the role is bound.
	Account string
}

// RoleOf returns the name of the ClusterRole that contains a grant. All grants of the form GROUP/RESOURCE share one
// ClusterRole.
func RoleOf(grant string) string {
	if slices.Contains(profiles, grant) {
		return HostAccount + "-" + grant
	}
	return HostAccount + "-resources"
}

// ClusterRoles returns all ClusterRoles that the join writes to the member for these grants. The first ClusterRole owns all
// others.
func ClusterRoles(grants []string, served Served) []Role {
	roles := []Role{{Name: HostAccount, Rules: hostRules(), Account: HostAccount}}
	var singles []rbacv1.PolicyRule
	for _, grant := range grants {
		if slices.Contains(profiles, grant) {
			roles = append(roles, Role{Name: RoleOf(grant), Rules: Grants(grant), Account: HostAccount})
		} else {
			singles = append(singles, Grants(grant)...)
		}
	}
	if len(singles) > 0 {
		roles = append(roles, Role{Name: HostAccount + "-resources", Rules: singles, Account: HostAccount})
	}
	return append(roles,
		Role{Name: HostAccount + "-aggregated", aggregate: v1alpha1.LabelAggregateToHost, Account: HostAccount},
		Role{Name: CollectorAccount, Rules: collectorRules(), Account: CollectorAccount},
		Role{Name: CollectorGranted, Rules: CollectorReads(grants, served), Account: CollectorAccount},
		Role{Name: CollectorAccount + "-aggregated", aggregate: v1alpha1.LabelAggregateToCollector, Account: CollectorAccount},
	)
}

// SystemRoles returns the Roles of both accounts in fairlead-system. The collector mode decides which tokens the host may
// request there.
func SystemRoles(collector v1alpha1.CollectorMode) []Role {
	return []Role{
		{Name: HostAccount, Rules: hostSystemRules(collector), Account: HostAccount},
		{Name: CollectorAccount, Rules: collectorSystemRules(), Account: CollectorAccount},
	}
}

// GrantRoles returns the names of all ClusterRoles that a join may create for grants.
func GrantRoles() []string {
	names := []string{HostAccount + "-resources"}
	for _, profile := range profiles {
		names = append(names, RoleOf(profile))
	}
	return names
}

// Fill sets the rules of a ClusterRole on the member.
func (r Role) Fill(have *rbacv1.ClusterRole) {
	if r.aggregate == "" {
		have.Rules = r.Rules
		return
	}
	have.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{r.aggregate: "true"}}}}
}

// Subjects returns the service account as the subject of a binding.
func Subjects(account string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.SystemNamespace, Name: account}}
}
