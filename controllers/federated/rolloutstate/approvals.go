// SPDX-License-Identifier: Apache-2.0

package rolloutstate

import (
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/rollout"
)

// Approvals returns the Approvals (Wave, Skip and Retry) that count for a rollout with these waves, and those that are for another
// rollout or for a wave that it does not have.
func Approvals(approvals []v1alpha1.Approval, state *rollout.State, waves []string) (counted rollout.Approvals, outdated []*v1alpha1.Approval) {
	for i := range approvals {
		a := &approvals[i]
		switch a.Spec.Allow {
		case v1alpha1.AllowWave, v1alpha1.AllowSkip, v1alpha1.AllowRetry:
		default:
			continue
		}
		switch {
		case a.DeletionTimestamp != nil:
			continue
		case a.Spec.Rollout != state.ID || a.Spec.Revision != state.Revision,
			a.Spec.Allow == v1alpha1.AllowWave && !slices.Contains(waves, a.Spec.Wave):
			outdated = append(outdated, a)
			continue
		}
		switch a.Spec.Allow {
		case v1alpha1.AllowWave:
			counted.Waves = append(counted.Waves, a.Spec.Wave)
		case v1alpha1.AllowSkip:
			counted.Skip = append(counted.Skip, a.Spec.Clusters...)
		case v1alpha1.AllowRetry:
			if a.CreationTimestamp.After(counted.Retry) {
				counted.Retry = a.CreationTimestamp.Time
			}
		}
	}
	return counted, outdated
}
