// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// The profiles that the user can give with --allow, beside single grants of the form GROUP/RESOURCE.
const (
	ProfileCore     = "core"
	ProfileStorage  = "storage"
	ProfileVolumes  = "volumes"
	ProfileOLM      = "olm"
	ProfileCatalogs = "catalogs"
	ProfileSecrets  = "secrets"
	ProfileRBAC     = "rbac"
	ProfileAny      = "any"
)

// The API groups of OLM, version 0 and 1.
const (
	groupOLM   = "operators.coreos.com"
	groupOLMv1 = "olm.operatorframework.io"
	// groupPackages is the API group of OLM's package server.
	groupPackages = "packages.operators.coreos.com"
)

// coreGroup is the name of the core API group in a grant of the form GROUP/RESOURCE. In the Kubernetes API the name of
// this group is empty.
const coreGroup = "core"

// maxGrants is the largest number of grants that the schema of a Membership allows.
const maxGrants = 64

var profiles = []string{ProfileCore, ProfileStorage, ProfileVolumes, ProfileOLM, ProfileCatalogs, ProfileSecrets, ProfileRBAC, ProfileAny}

// DefaultGrants are the grants of a first join without --allow.
func DefaultGrants() []string { return []string{ProfileCore, ProfileStorage, ProfileOLM} }

var resourcePattern = regexp.MustCompile(`^([a-z][-a-z0-9]{0,62}|\*)$`)

// ParseGrants checks grants and returns them without duplicates, profiles first. If "any" is among them, it returns only
// "any", which includes all others.
func ParseGrants(grants []string) ([]string, error) {
	var parsed, singles []string
	for _, g := range grants {
		g = strings.TrimSpace(g)
		if slices.Contains(profiles, g) {
			parsed = append(parsed, g)
			continue
		}
		if _, _, err := single(g); err != nil {
			return nil, err
		}
		singles = append(singles, g)
	}
	slices.SortFunc(parsed, func(a, b string) int { return slices.Index(profiles, a) - slices.Index(profiles, b) })
	slices.Sort(singles)
	parsed = slices.Compact(append(parsed, singles...))
	switch {
	case len(parsed) == 0:
		return nil, fmt.Errorf("the list of grants is empty: give at least one of %s, or a GROUP/RESOURCE", strings.Join(profiles, ", "))
	case slices.Contains(parsed, ProfileAny):
		return []string{ProfileAny}, nil
	case len(parsed) > maxGrants:
		return nil, fmt.Errorf("%d grants are too many for one join (%d at most): on the member, put them into a ClusterRole with the label %s: \"true\"",
			len(parsed), maxGrants, v1alpha1.LabelAggregateToHost)
	}
	return parsed, nil
}

// single splits a grant of the form GROUP/RESOURCE. It returns an error for any other form and for invalid names.
func single(grant string) (group, resource string, err error) {
	group, resource, ok := strings.Cut(grant, "/")
	switch {
	case !ok:
		return "", "", fmt.Errorf("unknown profile %q: give %s, or GROUP/RESOURCE (for example example.com/widgets, core/pods)", grant, strings.Join(profiles, ", "))
	case group == "*":
		return "", "", fmt.Errorf("%q: give the name of a group; to grant all groups, give the profile %s", grant, ProfileAny)
	case len(validation.IsDNS1123Subdomain(group)) > 0:
		return "", "", fmt.Errorf("%q: %q is no API group (write %s for the group without a name)", grant, group, coreGroup)
	case !resourcePattern.MatchString(resource):
		return "", "", fmt.Errorf("%q: %q is no resource: give its plural as in `kubectl api-resources`, or *", grant, resource)
	}
	if group == coreGroup {
		group = ""
	}
	return group, resource, nil
}

// Grants returns the RBAC rules that one grant, a profile or a GROUP/RESOURCE, gives the host on the member. It
// returns nil for a grant that ParseGrants refuses.
func Grants(grant string) []rbacv1.PolicyRule {
	switch grant {
	case ProfileCore:
		return []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "create", "patch"}},
			write("", "configmaps", "services", "serviceaccounts", "persistentvolumeclaims"),
			write("apps", "*"),
			write("batch", "*"),
			write("autoscaling", "*"),
			write("policy", "*"),
			write("networking.k8s.io", "*"),
			write("gateway.networking.k8s.io", "*"),
		}
	case ProfileStorage:
		return []rbacv1.PolicyRule{
			write("storage.k8s.io", "storageclasses", "volumeattributesclasses"),
			write("snapshot.storage.k8s.io", "volumesnapshots", "volumesnapshotclasses"),
		}
	case ProfileVolumes:
		// These kinds have a profile of their own, because with them a wrapper can read or overwrite other people's data. A
		// PersistentVolume can refer to any path on a node, and both kinds can refer to any volume or snapshot of the cloud
		// account that the CSI driver uses.
		return []rbacv1.PolicyRule{write("", "persistentvolumes"), write("snapshot.storage.k8s.io", "volumesnapshotcontents")}
	case ProfileOLM:
		// OLM gives an operator the rights that its ClusterServiceVersion asks for. So a host that could write
		// ClusterServiceVersions could obtain any right. The host does not need to write them: OLM creates them from its
		// catalogs.
		return []rbacv1.PolicyRule{
			write(groupOLM, "subscriptions", "operatorgroups", "operatorconditions"),
			{APIGroups: []string{groupOLM}, Resources: []string{"installplans"}, Verbs: []string{"get", "list", "watch", "patch", "delete"}},
			{APIGroups: []string{groupOLM}, Resources: []string{"clusterserviceversions"}, Verbs: []string{"get", "list", "watch", "delete"}},
			read(groupOLM, "catalogsources", "operators"),
			// Before the manager removes an operator to install an earlier version, it asks whether the catalog has that version.
			{APIGroups: []string{groupPackages}, Resources: []string{"packagemanifests"}, Verbs: []string{"get"}},
			write(groupOLMv1, "clusterextensions"),
			read(groupOLMv1, "clustercatalogs"),
		}
	case ProfileCatalogs:
		return []rbacv1.PolicyRule{write(groupOLM, "catalogsources"), write(groupOLMv1, "clustercatalogs")}
	case ProfileSecrets:
		return []rbacv1.PolicyRule{write("", "secrets")}
	case ProfileRBAC:
		// The verbs escalate and bind are left out, so Kubernetes prevents the host from granting rights that it
		// does not have.
		return []rbacv1.PolicyRule{write("rbac.authorization.k8s.io", "roles", "rolebindings", "clusterroles", "clusterrolebindings")}
	case ProfileAny:
		return []rbacv1.PolicyRule{
			{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
		}
	}
	group, resource, err := single(grant)
	if err != nil {
		return nil
	}
	return []rbacv1.PolicyRule{write(group, resource)}
}

// GrantsEveryGroup reports whether the grants include every API group, even groups that the member does not serve yet.
func GrantsEveryGroup(grants []string) bool {
	return slices.ContainsFunc(grants, func(grant string) bool {
		return slices.ContainsFunc(Grants(grant), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "*") })
	})
}

func write(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources,
		Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}
}
