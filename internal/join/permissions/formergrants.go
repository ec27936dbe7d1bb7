// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Former is a right that a profile included in an earlier version, and does not include today. A member that an earlier
// version joined gives the host this right. A join without --allow adds the grants in Keep, so that the host does not lose
// the right.
type Former struct {
	Profile         string
	group, resource string
	// Keep are today's grants that include the right.
	Keep []string
}

// Formers returns all former rights.
func Formers() []Former {
	return []Former{
		{Profile: ProfileStorage, resource: "persistentvolumes", Keep: []string{ProfileVolumes}},
		{Profile: ProfileOLM, group: groupOLM, resource: "*", Keep: []string{groupOLM + "/*"}},
		{Profile: ProfileOLM, group: groupOLMv1, resource: "*", Keep: []string{groupOLMv1 + "/*"}},
	}
}

// IsIn reports whether an RBAC rule includes the former right, the right to create objects of its resource.
func (f Former) IsIn(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.APIGroups, f.group) && slices.Contains(rule.Resources, f.resource) && slices.Contains(rule.Verbs, "create")
}

func (f Former) String() string {
	if f.group == "" {
		return f.resource
	}
	return f.group + "/" + f.resource
}
