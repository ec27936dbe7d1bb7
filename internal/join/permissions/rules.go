// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// The names of objects that a join creates on a member.
const (
	// HostAccount is the host's service account on a member. A Role and a ClusterRole of this name give the account the
	// rights that do not depend on the grants. Their bindings have this name too.
	HostAccount = "fairlead-host"
	// CollectorAccount is the service account of the collector. Its tokens are in the manager (collector: Host), in the
	// collector's pod (Member), or with the person who runs the collector (External).
	CollectorAccount = "fairlead-collector"
	// CollectorGranted is the ClusterRole that lets the collector read the kinds that the member has granted to the host.
	CollectorGranted = CollectorAccount + "-granted"
)

// The names of the CRDs that a join installs on members.
const (
	CRDDeliveries  = "deliveries." + v1alpha1.Group
	CRDMemberships = "memberships." + v1alpha1.Group
)

var (
	readOnly       = []string{"get", "list", "watch"}
	discoveryPaths = []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"}
)

// hostRules returns the rights at cluster scope that the host has on every member, whatever the grants are. The host may
// read the Membership, Namespaces, CRDs, and which kinds the member serves. It may ask the API server for its own rights.
// When the host leaves the member, it may delete the Membership, Fairlead's CRDs and its own ClusterRole.
func hostRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"memberships"}, ResourceNames: []string{v1alpha1.MembershipName},
			Verbs: []string{"get", "delete"}},
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{CRDDeliveries, CRDMemberships},
			Verbs: []string{"delete"}},
		// If the member no longer serves a kind, the manager reads the kind's CRD. Only the CRD shows whether the kind was
		// deleted, or whether the member will serve the kind and its objects again.
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{HostAccount}, Verbs: []string{"delete"}},
		{NonResourceURLs: discoveryPaths, Verbs: []string{"get"}},
	}
}

// MemberCRDs returns the names of the CRDs that a join installs on a member.
func MemberCRDs() []string { return []string{CRDDeliveries, CRDMemberships} }

// TokenSecrets returns the names that the token Secrets of an account may have. A token Secret has no data: the member's
// API server refuses a token once the Secret to which it is bound is deleted. There are several names, so that a renewal by
// the manager and a join at the same time use different token Secrets. The names are fixed, so that a Role can allow the
// host to delete these Secrets and no others.
func TokenSecrets(account string) []string {
	return []string{account + "-token-1", account + "-token-2", account + "-token-3", account + "-token-4"}
}

// AllTokenSecrets returns the names of the token Secrets of both accounts.
func AllTokenSecrets() []string {
	return slices.Concat(TokenSecrets(HostAccount), TokenSecrets(CollectorAccount))
}

// tokenAccounts returns the accounts for which the host requests tokens, and the names of the Secrets to which these
// tokens may be bound.
func tokenAccounts(collector v1alpha1.CollectorMode) (accounts, bound []string) {
	if collector == v1alpha1.CollectorHost {
		return []string{HostAccount, CollectorAccount}, AllTokenSecrets()
	}
	return []string{HostAccount}, TokenSecrets(HostAccount)
}

// hostSystemRules returns the host's rights in the member's namespace fairlead-system. A Role in a namespace also covers
// the Namespace object itself, so the host can delete the namespace even after its ClusterRole is deleted. The host may
// create tokens of the collector's account only if the collector runs inside the manager.
func hostSystemRules(collector v1alpha1.CollectorMode) []rbacv1.PolicyRule {
	accounts, bound := tokenAccounts(collector)
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"deliveries"},
			Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{HostAccount}, Verbs: []string{"get", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: accounts, Verbs: []string{"create"}},
		// The next two rules are for the Secrets to which tokens are bound. RBAC cannot restrict a create by name, so the first
		// rule covers all Secrets. The host has no right to read Secrets.
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: bound, Verbs: []string{"delete"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{v1alpha1.SystemNamespace}, Verbs: []string{"get", "delete"}},
	}
	if collector == v1alpha1.CollectorMember {
		// The host watches the collector's Deployment on the member and lists its pods, to report why the collector does not
		// run. When the host leaves the member, it deletes this Deployment first. RBAC can restrict a get and a delete by name,
		// and a watch with a field selector for that name. It cannot restrict a list by name, so the host gets no right to list
		// Deployments.
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{membercollector.Name}, Verbs: []string{"get", "watch", "delete"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}})
	}
	return rules
}

// collectorRules returns the rights at cluster scope that a collector has on every member, whatever the grants are. The
// collector may read the kinds that it needs to judge objects and to report facts about the cluster. It may write the
// status of the Membership.
func collectorRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		read("", "events", "nodes"),
		// The pods of an unhealthy workload and the logs of its containers show why it is unhealthy. The collector also
		// needs the pods of an operator that OLM installs, although no grant has to include that operator's Deployment, and those
		// that wait for a claim of a wrapper. It uses no other pods. RBAC cannot say that.
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
		{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: []string{"list"}},
		read("storage.k8s.io", "csidrivers", "storageclasses"),
		read("apiextensions.k8s.io", "customresourcedefinitions"),
		read("apiregistration.k8s.io", "apiservices"),
		read(v1alpha1.Group, "memberships"),
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"memberships/status"}, ResourceNames: []string{v1alpha1.MembershipName},
			Verbs: []string{"get", "patch", "update"}},
		{NonResourceURLs: discoveryPaths, Verbs: []string{"get"}},
	}
}

// collectorSystemRules returns a collector's rights in fairlead-system.
func collectorSystemRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		read(v1alpha1.Group, "deliveries"),
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"deliveries/status"}, Verbs: []string{"get", "patch", "update"}},
	}
}

// Served lists the API groups and core resources that a member served when the join read them.
type Served struct {
	// Groups are the API groups, without the core group.
	Groups []string
	// Core are the resources of the core group.
	Core []string
}

// CollectorReads returns the collector's rights to read under these grants: all objects that the host may write, except
// Secrets. An RBAC rule cannot say "all resources but Secrets". So for a grant of all groups, CollectorReads adds one rule
// for each group in served. For the core group it names each resource.
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
	case group == groupPackages:
		return nil // only the manager asks the package server
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

// ReadGroup returns the right to read all resources of an API group.
func ReadGroup(group string) rbacv1.PolicyRule { return read(group, "*") }

func read(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: readOnly}
}

func withoutSecrets(resources []string) []string {
	return slices.DeleteFunc(sorted(resources), func(r string) bool { return r == "secrets" })
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
