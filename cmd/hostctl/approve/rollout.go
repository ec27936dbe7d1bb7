// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// isForRollout reports whether the flags ask for an Approval of a rollout's step: --wave, --skip or --retry.
func (o *Options) isForRollout() bool { return o.Wave != "" || len(o.Skip) > 0 || o.Retry }

// rollout returns the spec of the Approval for a step of the present rollout. It returns an error if the rollout does not wait for
// that step.
func (o *Options) rollout(ctx context.Context, w v1alpha1.Wrapper) (v1alpha1.ApprovalSpec, error) {
	status := w.WrapperStatus()
	spec := v1alpha1.ApprovalSpec{}
	r := &status.Rollout
	switch {
	case w.GetDeletionTimestamp() != nil:
		return spec, errors.New("the wrapper is being deleted, so no revision of it is rolled out")
	case !r.Exists():
		return spec, errors.New("the wrapper has no rollout: spec.rollout has neither waves nor maxUnavailable, progressDeadlineSeconds or onFailure")
	case status.ObservedGeneration != w.GetGeneration():
		return spec, errors.New("the host's manager has not acted on the wrapper's present spec yet: try again in a moment, or check that the manager runs")
	}
	spec.Rollout, spec.Revision = r.ID, r.Revision
	var err error
	switch {
	case o.Wave != "":
		spec.Allow, spec.Wave = v1alpha1.AllowWave, o.Wave
		err = canApproveWave(w, o.Wave)
	case o.Retry:
		spec.Allow = v1alpha1.AllowRetry
		if !r.HasFailed() {
			err = fmt.Errorf("no revision has failed: the rollout of %s is %s", r.Revision, r.State)
		}
	default:
		spec.Allow = v1alpha1.AllowSkip
		spec.Clusters, err = o.among(ctx, o.Skip, status.Placement.Clusters, "that the wrapper is placed on")
	}
	return spec, err
}

// canApproveWave returns an error if the rollout can never wait for an approval of this wave.
func canApproveWave(w v1alpha1.Wrapper, name string) error {
	r := &w.WrapperStatus().Rollout
	var manual []string
	passed := true // true while the loop is at waves before the current one
	for _, wave := range w.WrapperSpec().Rollout.Waves {
		if wave.Approval == v1alpha1.WaveManual {
			manual = append(manual, wave.Name)
		}
		passed = passed && wave.Name != r.Wave
		if wave.Name != name {
			continue
		}
		switch {
		case wave.Approval != v1alpha1.WaveManual:
			return fmt.Errorf("wave %s needs no approval: its field approval is not Manual", name)
		case r.Wave == name && r.Begun == v1alpha1.Yes:
			return fmt.Errorf("wave %s has already begun", name)
		case r.State != v1alpha1.RolloutProgressing:
			return fmt.Errorf("the rollout of %s is %s, so no wave begins", r.Revision, r.State)
		case passed:
			return fmt.Errorf("wave %s has passed already: the current wave is %s", name, r.Wave)
		}
		return nil
	}
	if len(manual) == 0 {
		return fmt.Errorf("the rollout has no wave %s, and none of its waves needs an approval", name)
	}
	return fmt.Errorf("the rollout has no wave %s; the waves that need an approval: %s", name, strings.Join(manual, ", "))
}

// rolloutPlan returns the text that tells the user what the Approval of a rollout's step will do.
func rolloutPlan(w v1alpha1.Wrapper, a *v1alpha1.Approval) string {
	title, spec := render.TitleOf(w), &a.Spec
	switch spec.Allow {
	case v1alpha1.AllowWave:
		words := fmt.Sprintf("%s: wave %s of %s may begin", title, spec.Wave, spec.Revision)
		if current := w.WrapperStatus().Rollout.Wave; current != spec.Wave {
			words += fmt.Sprintf(", after wave %s and the waves between the two have passed", current)
		}
		return words + ".\n"
	case v1alpha1.AllowRetry:
		return fmt.Sprintf("%s: %s, which failed, goes out again from its first wave.\n", title, spec.Revision)
	}
	return fmt.Sprintf("%s: no wave of %s waits for %s any more, and a failure on these clusters does not count.\n", title, spec.Revision, few(spec.Clusters))
}
