// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// maxUnknownInMessage is the number of selections in a message.
const maxUnknownInMessage = 5

// Unknown are the names in one selection of a wrapper that no MemberCluster has.
type Unknown struct {
	// Field is the place of the names, as in spec.overrides[0].clusters.names.
	Field string
	// Names are sorted, and not empty.
	Names []string
}

// String is a sentence for the author.
func (u Unknown) String() string {
	return fmt.Sprintf("%s: no MemberCluster is named %s (see `kubectl get memberclusters`)", u.Field, list(u.Names))
}

// UnknownNames finds the names in the placement and in the overrides of a spec that no MemberCluster has: the
// placement first, then the overrides in their order.
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

// notice puts the unknown names of overrides into one message, "" when there are none.
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
