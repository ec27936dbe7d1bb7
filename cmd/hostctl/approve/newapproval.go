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

// decide makes the Approval that the flags ask for. It returns an error when nothing waits for it, or not for a
// member that the user named. An Approval that nothing waits for would take effect later, at a time the user does not expect.
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

// removal returns the members that the wrapper may leave.
func (o *Options) removal(ctx context.Context, w v1alpha1.Wrapper) ([]string, error) {
	placed := w.WrapperStatus().Placement
	switch {
	case w.GetDeletionTimestamp() != nil:
		return nil, errors.New("the wrapper is being deleted, and a deletion waits for no approval; to stop waiting for a cluster that does not answer, give --release CLUSTER")
	case placed.ObservedGeneration != w.GetGeneration():
		return nil, errors.New("the host's manager has not decided on the placement of the wrapper's present spec yet: try again in a moment, " +
			"or check that the manager runs")
	case len(placed.Withheld) == 0:
		return nil, errors.New("no removal waits: status.placement.withheld is empty")
	case len(o.Clusters) == 0:
		return placed.Withheld, nil
	}
	return o.among(ctx, o.Clusters, placed.Withheld, "that wait for an approval of the removal")
}

// release returns the members that Fairlead stops waiting for.
func (o *Options) release(ctx context.Context, w v1alpha1.Wrapper) ([]string, error) {
	waited := awaited(w)
	if len(waited) == 0 {
		return nil, errors.New("the wrapper is leaving no cluster (status.placement.leaving is empty), so there is nothing to release")
	}
	return o.among(ctx, o.Release, waited, "that the wrapper is leaving")
}

// awaited returns, sorted, the members that a wrapper is still leaving. While the wrapper is being deleted and its status says so,
// these are the members that have a line in the status.
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

// among returns the named members sorted and without duplicates. It returns an error if one of them is not in those; what describes
// those in the error.
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
