// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/revision"
)

// The largest lengths that the schemas of MemberCluster and Membership allow, in bytes.
const (
	maxVersion, maxCollectorVersion = 64, 128
	maxName, maxLabel, maxGrant     = 253, 63, 317
	maxUID                          = 128
)

// InvalidName replaces the name of a member that is no DNS label. It is no DNS label itself, so no member can have this
// name.
const InvalidName = "INVALID-NAME"

// Version cleans the version that a server reports. The result is one line of at most 64 bytes.
func Version(v string) string { return health.Clean(v, maxVersion) }

// UID cleans a uid. The result is one line of at most 128 bytes.
func UID(uid types.UID) types.UID { return types.UID(health.Clean(string(uid), maxUID)) }

// Name returns the name of a member, or InvalidName if the name is no DNS label. The result is safe as part of a
// command.
func Name(name string) string {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return InvalidName
	}
	return name
}

// User cleans the name of a user for an annotation and for a terminal. The result is one line of at most 256 bytes. If
// cleaning would change the name, User quotes it first: the cleaned name alone could be the name of another user.
func User(name string) string {
	if cleaned := health.Clean(name, revision.MaxAuthor); cleaned == name {
		return name
	}
	return health.Clean(strconv.QuoteToASCII(name), revision.MaxAuthor)
}

// Names cleans the names of objects and cuts each to 253 bytes. It keeps their order, and leaves out empty and repeated names.
func Names(names []string) []string { return texts(names, len(names), maxName) }

// Error returns the text of an error for a terminal. It keeps line breaks and tabs, and removes all other control
// characters.
func Error(err error) string { return Text(err.Error()) }

// Text cleans a text of several lines for a terminal. It keeps line breaks, tabs and spaces, and removes all other control
// characters.
func Text(text string) string {
	lines := strings.Split(text, "\n")
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

// Membership cleans all text of a Membership, in place. It cuts the text to what two schemas allow: that of Membership,
// and that of the status of a MemberCluster, into which the manager copies some of the text.
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

// texts cleans each text and cuts it to limit bytes. It drops empty and repeated texts. It returns the first ones of the
// rest: no more than the number in the argument most.
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
