// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Rebuild is the decision that a wrapper must have had which has none: sealed are the members that hold a
// Delivery of its name with the host's own seal. Of these it takes what the spec admits now; on the others
// nothing is decided, so that nothing follows there, least of all a removal.
func Rebuild(spec v1alpha1.Placement, members []Member, sealed []string) v1alpha1.PlacementStatus {
	admitted, err := Decide(Input{Spec: spec, Members: members}, time.Time{})
	if err != nil {
		return v1alpha1.PlacementStatus{} // Decide says so again, to the author
	}
	status := v1alpha1.PlacementStatus{}
	for _, name := range admitted.Status.Clusters {
		if slices.Contains(sealed, name) {
			status.Clusters = append(status.Clusters, name)
		}
	}
	return status
}
