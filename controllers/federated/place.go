// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
)

// schedulerManager is the field manager that writes status.placement and no other field.
const schedulerManager = v1alpha1.FieldManager + "-scheduler"

// listMembers reads the MemberClusters. It leaves out a MemberCluster that is being deleted, because a wrapper must
// neither be pushed to that member nor leave it.
func (p *reconciliation) listMembers(ctx context.Context) error {
	list := &v1alpha1.MemberClusterList{}
	if err := p.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the MemberClusters: %w", err)
	}
	p.members = make(map[string]*v1alpha1.MemberCluster, len(list.Items))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			p.members[list.Items[i].Name] = &list.Items[i]
		}
	}
	return nil
}

// place decides on which members the wrapper is placed, and writes the decision before any step acts on it. The write
// names the resourceVersion of the wrapper on which this decision is based. If another process has written a decision
// meanwhile, the API server therefore refuses this write. Without that check, this process would overwrite the other
// decision and forget the members that it added.
func (p *reconciliation) place(ctx context.Context) error {
	previous := p.wrapper.WrapperStatus().Placement
	before := *previous.DeepCopy()
	before.Leaving = p.stillLeaving(previous.Leaving)

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
	return p.writeDecision(ctx, decided.Status)
}

// isDecidedAgain reports whether a decision differs from the previous one at most in its generation. The manager can
// push before it writes such a decision, because the stored one has the same members; publish writes the generation
// later. While a removal waits for an Approval, a new generation always makes another decision:
// status.placement.decision, which the Approval has to name, then changes.
func isDecidedAgain(previous, decided v1alpha1.PlacementStatus) bool {
	decided.ObservedGeneration = previous.ObservedGeneration
	return equality.Semantic.DeepEqual(previous, decided)
}

// stillLeaving returns the names in leaving without those of members that the wrapper has left completely.
func (p *reconciliation) stillLeaving(leaving []string) []string {
	var still []string
	for _, name := range leaving {
		if !p.left(name) {
			still = append(still, name)
		}
	}
	return still
}

// left reports whether the wrapper has left a member, that is, whether the last push there deleted the Delivery.
func (p *reconciliation) left(name string) bool {
	return p.pusher.Result(p.key, name).HasLeft()
}

func (p *reconciliation) writeDecision(ctx context.Context, decided v1alpha1.PlacementStatus) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&decided)
	if err != nil {
		return fmt.Errorf("encoding status.placement of %s: %w", p.key, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"placement": content}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(string(p.key.Kind)))
	u.SetNamespace(p.key.Namespace)
	u.SetName(p.key.Name)
	u.SetUID(p.wrapper.GetUID())
	u.SetResourceVersion(p.wrapper.GetResourceVersion())
	if err := p.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.ForceOwnership, client.FieldOwner(schedulerManager)); err != nil {
		return fmt.Errorf("writing status.placement of %s: %w", p.key, err)
	}
	p.wrapper.SetResourceVersion(u.GetResourceVersion())
	p.wrapper.WrapperStatus().Placement = decided
	p.writes.noteWritten(p.wrapper)
	return nil
}
