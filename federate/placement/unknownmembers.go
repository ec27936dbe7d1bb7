// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// maxUnknownInMessage is the greatest number of overrides with unknown names that one message lists.
const maxUnknownInMessage = 5

// Unknown are the names in one selection of a wrapper for which no MemberCluster exists.
type Unknown struct {
	// Field is the field that has the names, for example spec.overrides[0].clusters.names.
	Field string
	// Names are the unknown names, sorted. The list is not empty.
	Names []string
}

// String returns a sentence for the author.
func (u Unknown) String() string {
	return fmt.Sprintf("%s: no MemberCluster is named %s (see `kubectl get memberclusters`)", u.Field, list(u.Names))
}

// UnknownNames returns the names in the placement and in the overrides of a spec for which no MemberCluster exists. The
// placement comes first, then the overrides in their order. registered reports whether a MemberCluster exists.
func UnknownNames(spec *v1alpha1.WrapperSpec, registered func(name string) bool) []Unknown {
	var found []Unknown
	if names := unknownIn(spec.Placement.Clusters, registered); len(names) > 0 {
		found = append(found, Unknown{Field: "spec.placement.clusters.names", Names: names})
	}
	return append(found, unknownInOverrides(spec.Overrides, registered)...)
}

func unknownInOverrides(overrides []v1alpha1.Override, registered func(name string) bool) []Unknown {
	var found []Unknown
	for i := range overrides {
		if names := unknownIn(overrides[i].Clusters, registered); len(names) > 0 {
			found = append(found, Unknown{Field: fmt.Sprintf("spec.overrides[%d].clusters.names", i), Names: names})
		}
	}
	return found
}

func unknownIn(selection *v1alpha1.ClusterSelection, registered func(name string) bool) []string {
	if selection == nil {
		return nil
	}
	var names []string
	for _, name := range selection.Names {
		if !registered(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// notice joins the unknown names of overrides into one message; "" if there are none.
func notice(unknown []Unknown) string {
	sentences := make([]string, 0, maxUnknownInMessage+1)
	for i, u := range unknown {
		if i == maxUnknownInMessage {
			sentences = append(sentences, fmt.Sprintf("%d more overrides name members that are not registered", len(unknown)-i))
			break
		}
		sentences = append(sentences, u.String())
	}
	return strings.Join(sentences, "; ")
}
