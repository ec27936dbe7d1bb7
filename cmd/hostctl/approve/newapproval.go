// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/approval"
)

// decide returns the Approval that the flags ask for. It returns an error if nothing waits for such an Approval. hostctl must not write
// it then: it would stay, and permit a later action that the user does not expect.
func (o *Options) decide(ctx context.Context, w v1alpha1.Wrapper) (*v1alpha1.Approval, error) {
	var spec v1alpha1.ApprovalSpec
	var err error
	switch {
	case o.isForRollout():
		spec, err = o.rollout(ctx, w)
	case o.Removal:
		spec.Allow, spec.Decision = v1alpha1.AllowRemoval, w.WrapperStatus().Placement.Decision
		spec.Clusters, err = o.removal(ctx, w)
	default:
		spec.Allow = v1alpha1.AllowRelease
		spec.Clusters, err = o.release(ctx, w)
	}
	if err != nil {
		return nil, err
	}
	return approval.New(w, spec), nil
}

// removal returns the members that a removal Approval lets the wrapper leave.
func (o *Options) removal(ctx context.Context, w v1alpha1.Wrapper) ([]string, error) {
	placed := w.WrapperStatus().Placement
	switch {
	case w.GetDeletionTimestamp() != nil:
		return nil, errors.New("the wrapper is being deleted, and a deletion waits for no approval; to stop waiting for a cluster that does not answer, give --release CLUSTER")
	case placed.ObservedGeneration != w.GetGeneration():
		return nil, errors.New("the manager has not yet decided on which clusters to place the wrapper's present spec: try again in a moment, " +
			"or check that the manager runs")
	case len(placed.Withheld) == 0:
		return nil, errors.New("no removal waits for an approval: status.placement.withheld is empty")
	case len(o.Clusters) == 0:
		return placed.Withheld, nil
	}
	return o.among(ctx, o.Clusters, placed.Withheld, "that wait for an approval of the removal")
}

// release returns the members of --release. It returns an error if the wrapper is not leaving one of them.
func (o *Options) release(ctx context.Context, w v1alpha1.Wrapper) ([]string, error) {
	waited := awaited(w)
	if len(waited) == 0 {
		return nil, errors.New("no removal of the wrapper is in progress (status.placement.leaving is empty), so no cluster can be released")
	}
	return o.among(ctx, o.Release, waited, "that the wrapper is leaving")
}

// awaited returns the members that the wrapper is still leaving. For a wrapper that is being deleted, these are the members with a line
// in its status. Until the manager has updated the status for the deletion, and also if the status omits lines, awaited
// returns all members of the wrapper.
func awaited(w v1alpha1.Wrapper) []string {
	status := w.WrapperStatus()
	if w.GetDeletionTimestamp() == nil {
		return status.Placement.Leaving
	}
	names := slices.Concat(status.Placement.Clusters, status.Placement.Leaving)
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Reason == v1alpha1.ReasonDeleting && status.ClustersOmitted == 0 {
		names = nil
		for i := range status.Clusters {
			names = append(names, status.Clusters[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// among checks the names that the user gave (named) against the names that are allowed (those). It returns the names of the user, sorted
// and without duplicates. For a name that is not allowed, it returns an error that lists the allowed ones. For this error, what tells
// which members are allowed, for example "that the wrapper is leaving".
func (o *Options) among(ctx context.Context, named, those []string, what string) ([]string, error) {
	named = slices.Clone(named)
	slices.Sort(named)
	named = slices.Compact(named)
	for _, name := range named {
		if slices.Contains(those, name) {
			continue
		}
		err := o.host.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.MemberCluster{})
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no cluster %s (see `kubectl get memberclusters`); the clusters %s: %s", name, what, few(those))
		}
		if err != nil {
			return nil, fmt.Errorf("getting MemberCluster %s from the host: %w", name, err)
		}
		return nil, fmt.Errorf("cluster %s is not among the clusters %s: %s", name, what, few(those))
	}
	return named, nil
}
