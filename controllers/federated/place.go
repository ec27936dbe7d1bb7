// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
)

// list reads the MemberClusters and the Approvals of this wrapper.
func (p *reconciliation) list(ctx context.Context) (err error) {
	if p.members, err = listMembers(ctx, p.client); err != nil {
		return err
	}
	if p.approvals, err = listApprovals(ctx, p.client, v1alpha1.Identity(p.wrapper)); err != nil {
		return err
	}
	p.overwrites = overwritesOf(p.approvals)
	return nil
}

// listMembers returns the MemberClusters by name. It leaves out a MemberCluster that is being deleted, because a wrapper
// must neither be pushed to that member nor leave it.
func listMembers(ctx context.Context, host client.Reader) (map[string]*v1alpha1.MemberCluster, error) {
	list := &v1alpha1.MemberClusterList{}
	if err := host.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the MemberClusters: %w", err)
	}
	members := make(map[string]*v1alpha1.MemberCluster, len(list.Items))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			members[list.Items[i].Name] = &list.Items[i]
		}
	}
	return members, nil
}

// place decides on which members the wrapper is placed, and writes the decision before any step acts on it.
func (p *reconciliation) place(ctx context.Context) error {
	previous := p.wrapper.WrapperStatus().Placement
	before := *previous.DeepCopy()
	before.Leaving = p.observer(p.key, p.wrapper, p.members).StillLeaving(previous.Leaving)

	candidates := make([]placement.Member, 0, len(p.members))
	for name, mc := range p.members {
		candidates = append(candidates, placement.Member{Name: name, Labels: mc.Labels})
	}
	spec := p.wrapper.WrapperSpec()
	decided, err := placement.Decide(placement.Input{
		Wrapper:    v1alpha1.Identity(p.wrapper),
		Spec:       spec.Placement,
		Overrides:  spec.Overrides,
		MaxRemoval: spec.Rollout.MaxRemoval,
		Members:    candidates,
		Previous:   before,
		Approvals:  p.approvals,
	}, p.now)
	if err != nil {
		p.invalid = err.Error()
		p.decision.Status = previous
		return nil
	}
	p.decision = decided
	if isDecidedAgain(previous, decided.Status) {
		return nil
	}
	return p.writer(p.wrapper).writeDecision(ctx, decided.Status)
}

// isDecidedAgain reports whether a decision differs from the previous one at most in its generation. The manager can
// push before it writes such a decision, because the stored one has the same members; publish writes the generation
// later. While a removal waits for an Approval, a new generation always makes another decision:
// status.placement.decision, which the Approval has to name, then changes.
func isDecidedAgain(previous, decided v1alpha1.PlacementStatus) bool {
	decided.ObservedGeneration = previous.ObservedGeneration
	return equality.Semantic.DeepEqual(previous, decided)
}
