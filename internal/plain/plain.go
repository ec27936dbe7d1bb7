// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Lengths in bytes that the schemas of MemberCluster and Membership allow.
const (
	maxVersion, maxCollectorVersion = 64, 128
	maxName, maxLabel, maxGrant     = 253, 63, 317
	maxUID                          = 128
)

// InvalidName replaces a member's name that is no DNS label. No member can have this name.
const InvalidName = "INVALID-NAME"

// Version cleans a version that a server reports: one line of at most 64 bytes.
func Version(v string) string { return health.Clean(v, maxVersion) }

// UID cleans a uid: at most 128 bytes.
func UID(uid types.UID) types.UID { return types.UID(health.Clean(string(uid), maxUID)) }

// Name returns the name of a member, or InvalidName if the text is no DNS label. The result is safe as part of a
// command.
func Name(name string) string {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return InvalidName
	}
	return name
}

// Names cleans the names of objects: each once, at most 253 bytes long, in their order.
func Names(names []string) []string { return texts(names, len(names), maxName) }

// Error is the text of an error for a terminal: it keeps the lines, without control characters.
func Error(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			if r == '\t' || health.Clean(string(r), len(string(r))) != "" || r == ' ' {
				return r
			}
			return -1
		}, strings.ToValidUTF8(line, "\uFFFD"))
	}
	return strings.Join(lines, "\n")
}

// Membership cleans all text of a Membership, and shortens it to fit two schemas: the Membership's own, and that of a
// MemberCluster's status.
func Membership(m *v1alpha1.Membership) {
	m.Spec.Host.UID, m.Spec.Host.Name = UID(m.Spec.Host.UID), health.Clean(m.Spec.Host.Name, maxName)
	if m.Spec.ClusterName != "" {
		m.Spec.ClusterName = Name(m.Spec.ClusterName)
	}
	if p := m.Spec.NamespacePolicy; p != v1alpha1.NamespacesManaged && p != v1alpha1.NamespacesAll {
		m.Spec.NamespacePolicy = ""
	}
	m.Spec.Grants = texts(m.Spec.Grants, 64, maxGrant)
	m.Status.CollectorVersion = health.Clean(m.Status.CollectorVersion, maxCollectorVersion)
	facts := &m.Status.Facts
	facts.KubernetesVersion = Version(facts.KubernetesVersion)
	facts.StorageClasses = texts(facts.StorageClasses, 64, maxName)
	facts.DefaultStorageClasses = texts(facts.DefaultStorageClasses, 16, maxName)
	facts.Provisioners = texts(facts.Provisioners, 64, maxName)
	facts.Zones = texts(facts.Zones, 64, maxLabel)
	facts.OLM = slices.DeleteFunc(facts.OLM, func(g v1alpha1.OLMGeneration) bool { return g != v1alpha1.OLMV0 && g != v1alpha1.OLMV1 })
	slices.Sort(facts.OLM)
	facts.OLM = slices.Compact(facts.OLM)
	if facts.Nodes != nil && *facts.Nodes < 0 {
		facts.Nodes = nil
	}
}

// texts returns the first texts, at most most of them. Each is clean, not empty, not repeated, and at most limit bytes
// long.
func texts(all []string, most, limit int) []string {
	var found []string
	for _, text := range all {
		text = health.Clean(text, limit)
		if text == "" || slices.Contains(found, text) {
			continue
		}
		if len(found) == most {
			break
		}
		found = append(found, text)
	}
	return found
}
