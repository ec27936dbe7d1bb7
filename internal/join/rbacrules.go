// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// The names of the objects that join makes on a member, in the namespace fairlead-system and at cluster scope.
const (
	// HostAccount is the host's service account on a member. The Role and the ClusterRole that the account always has, and their
	// bindings, have the same name.
	HostAccount = "fairlead-host"
	// CollectorAccount is the service account of the collector. Inside the manager (collector: Host) the manager holds a token of it;
	// on the member (collector: Member) the collector's pod does; elsewhere (collector: External) the operator of the collector does.
	CollectorAccount = "fairlead-collector"
	// collectorGranted is the ClusterRole by which the collector reads the kinds that the member granted the host.
	collectorGranted = CollectorAccount + "-granted"
)

// The CRDs of the kinds that live on members.
const (
	crdDeliveries  = "deliveries." + v1alpha1.Group
	crdMemberships = "memberships." + v1alpha1.Group
)

var (
	readOnly       = []string{"get", "list", "watch"}
	discoveryPaths = []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"}
)

// hostRules are the host's rights at cluster scope on every member, whatever the grants. The host may read its own
// identity, the Membership, and what the member serves. It may delete what it has to delete when it leaves.
func hostRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"memberships"}, ResourceNames: []string{v1alpha1.MembershipName},
			Verbs: []string{"get", "delete"}},
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{crdDeliveries, crdMemberships},
			Verbs: []string{"delete"}},
		// If the member no longer serves a kind, only its CRD shows whether it is gone for good, or will be back with
		// its objects.
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{HostAccount}, Verbs: []string{"delete"}},
		{NonResourceURLs: discoveryPaths, Verbs: []string{"get"}},
	}
}

// tokenAccounts are the accounts of which the host needs tokens, and the Secrets that these may be bound to.
func tokenAccounts(collector v1alpha1.CollectorMode) (accounts, bound []string) {
	if collector == v1alpha1.CollectorHost {
		return []string{HostAccount, CollectorAccount}, allTokenSecrets()
	}
	return []string{HostAccount}, tokenSecrets(HostAccount)
}

// hostSystemRules are the host's rights in the member's fairlead-system. A Role there covers the Namespace itself
// too: with it the host finishes its removal after its ClusterRole is gone. The host may create tokens of the
// collector's account only if the collector runs inside the manager.
func hostSystemRules(collector v1alpha1.CollectorMode) []rbacv1.PolicyRule {
	accounts, bound := tokenAccounts(collector)
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"deliveries"},
			Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{HostAccount}, Verbs: []string{"get", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: accounts, Verbs: []string{"create"}},
		// The Secrets that tokens are bound to. RBAC cannot restrict a create by name. The host may not read Secrets.
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: bound, Verbs: []string{"delete"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{v1alpha1.SystemNamespace}, Verbs: []string{"get", "delete"}},
	}
	if collector == v1alpha1.CollectorMember {
		// The host watches the collector there, reports why it does not run, and deletes it first when it leaves. RBAC cannot
		// restrict a list by name. It restricts a watch, which then has to select the name.
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{membercollector.Name}, Verbs: []string{"get", "watch", "delete"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}})
	}
	return rules
}

// collectorRules are a collector's rights at cluster scope on every member: reads, to judge objects and to find out
// the facts, and the one write that it makes.
func collectorRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		read("", "events", "nodes"),
		read("storage.k8s.io", "csidrivers", "storageclasses"),
		read("apiextensions.k8s.io", "customresourcedefinitions"),
		read("apiregistration.k8s.io", "apiservices"),
		read(v1alpha1.Group, "memberships"),
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"memberships/status"}, ResourceNames: []string{v1alpha1.MembershipName},
			Verbs: []string{"get", "patch", "update"}},
		{NonResourceURLs: discoveryPaths, Verbs: []string{"get"}},
	}
}

// collectorSystemRules are a collector's rights in fairlead-system.
func collectorSystemRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		read(v1alpha1.Group, "deliveries"),
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"deliveries/status"}, Verbs: []string{"get", "patch", "update"}},
	}
}

// Served is what a member serves at one moment.
type Served struct {
	// Groups are the API groups that have a name.
	Groups []string
	// Core are the resources of the group that has none.
	Core []string
}

// CollectorReads are the collector's rights to read under given grants: the same objects, but never Secrets. RBAC
// cannot express "all but". So if a grant holds all groups, or the whole core group, CollectorReads lists the served
// ones.
func CollectorReads(grants []string, served Served) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, grant := range grants {
		for _, rule := range Grants(grant) {
			for _, group := range rule.APIGroups {
				rules = append(rules, reads(group, rule.Resources, served)...)
			}
		}
	}
	return rules
}

func reads(group string, resources []string, served Served) []rbacv1.PolicyRule {
	all := slices.Contains(resources, "*")
	switch {
	case group == "*":
		rules := []rbacv1.PolicyRule{read("", withoutSecrets(served.Core)...)}
		for _, g := range sorted(served.Groups) {
			rules = append(rules, read(g, "*"))
		}
		return rules
	case group == "" && all:
		resources = served.Core
	case group != "":
		return []rbacv1.PolicyRule{read(group, resources...)}
	}
	if resources = withoutSecrets(resources); len(resources) == 0 {
		return nil
	}
	return []rbacv1.PolicyRule{read("", resources...)}
}

func read(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: readOnly}
}

func withoutSecrets(resources []string) []string {
	return slices.DeleteFunc(sorted(resources), func(r string) bool { return r == "secrets" })
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
