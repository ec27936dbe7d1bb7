// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides"
)

// Member is a MemberCluster as placement sees it.
type Member = overrides.Member

// maxNamesInMessage bounds how many names a message spells out; status.placement has them all.
const maxNamesInMessage = 10

// Decision is where the objects are to stand, and what to say about it.
type Decision struct {
	// Status is status.placement, every list of it sorted.
	Status v1alpha1.PlacementStatus
	// Placed, Reason and Message are those of the condition Placed.
	Placed  metav1.ConditionStatus
	Reason  string
	Message string
}

// Decide places a wrapper of the given generation on members, after the previous decision. It fails
// only where a selector does not parse; then the previous decision stands.
func Decide(spec v1alpha1.Placement, members []Member, previous v1alpha1.PlacementStatus, generation int64) (Decision, error) {
	if spec.Clusters == nil {
		// Left out is not "everywhere": nothing goes anywhere by leaving a field out.
		spec.Clusters = &v1alpha1.ClusterSelection{}
	}
	selection, err := overrides.NewSelection(spec.Clusters)
	if err != nil {
		return Decision{}, fmt.Errorf("placing: spec.placement.clusters: %w", err)
	}

	known := make(map[string]bool, len(members)) // by name; true when placed
	status := v1alpha1.PlacementStatus{ObservedGeneration: generation}
	for _, m := range members {
		known[m.Name] = selection.Selects(m)
		if known[m.Name] {
			status.Clusters = append(status.Clusters, m.Name)
		}
	}
	for _, name := range spec.Clusters.Names {
		if _, exists := known[name]; !exists {
			status.NotFound = append(status.NotFound, name)
		}
	}
	for _, name := range slices.Concat(previous.Clusters, previous.Leaving) {
		if placed, exists := known[name]; exists && !placed {
			status.Leaving = append(status.Leaving, name)
		}
	}
	status.Clusters = sorted(status.Clusters)
	status.NotFound = sorted(status.NotFound)
	status.Leaving = sorted(status.Leaving)

	decision := Decision{Status: status}
	decision.explain(len(members))
	return decision, nil
}

// explain fills in the condition. A name that nobody has comes first: it is what the author can mend.
func (d *Decision) explain(members int) {
	placed := len(d.Status.Clusters)
	switch {
	case len(d.Status.NotFound) > 0:
		d.Placed, d.Reason = metav1.ConditionFalse, v1alpha1.ReasonClusterNotFound
		d.Message = fmt.Sprintf("spec.placement.clusters.names: no MemberCluster is named %s (see `kubectl get memberclusters`); %s",
			list(d.Status.NotFound), served(placed))
	case placed == 0 && members == 0:
		d.Placed, d.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches
		d.Message = "the fleet has no member yet; `hostctl join` adds one"
	case placed == 0:
		d.Placed, d.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches
		d.Message = fmt.Sprintf("spec.placement.clusters selects none of the %s (see `kubectl get memberclusters --show-labels`)", count(members))
	default:
		d.Placed, d.Reason = metav1.ConditionTrue, v1alpha1.ReasonPlaced
		d.Message = fmt.Sprintf("%d of %s", placed, count(members))
	}
}

func served(placed int) string {
	switch placed {
	case 0:
		return "no other member is selected"
	case 1:
		return "the one other that is selected is served"
	default:
		return fmt.Sprintf("the %d others that are selected are served", placed)
	}
}

func count(members int) string {
	if members == 1 {
		return "1 member"
	}
	return fmt.Sprintf("%d members", members)
}

func list(names []string) string {
	if len(names) > maxNamesInMessage {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamesInMessage], ", "), len(names)-maxNamesInMessage)
	}
	return strings.Join(names, ", ")
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
