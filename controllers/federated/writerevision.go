// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
)

// historyLimit is how many revisions of a wrapper are kept beside those in use.
const historyLimit = 10

// revise writes the present spec as a ControllerRevision, unless that exists already.
func (p *reconciliation) revise(ctx context.Context) error {
	present, err := revision.Of(p.wrapper.WrapperSpec())
	if err != nil {
		p.invalid = err.Error()
		return nil
	}
	p.revision = p.history.Name(p.key.Kind, p.key.NamespacedName, present)
	if p.wrapper.WrapperStatus().UpdateRevision == p.revision {
		return nil
	}
	if p.writes.hasRevision(p.key, p.revision) {
		return nil
	}
	if err := p.writeRevision(ctx, present); err != nil {
		return err
	}
	p.writes.noteRevision(p.key, p.revision)
	return p.trimRevisions(ctx)
}

func (p *reconciliation) writeRevision(ctx context.Context, present revision.Revision) error {
	data, err := p.history.Encode(present, p.wrapper.GetUID(), p.revision)
	if err != nil {
		return fmt.Errorf("encrypting revision %s: %w", p.revision, err)
	}
	obj := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Identity(p.wrapper).Beside(),
			Name:      p.revision,
			Labels: map[string]string{
				v1alpha1.LabelUID:     string(p.wrapper.GetUID()),
				v1alpha1.LabelContent: p.history.Label(present),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: string(p.key.Kind),
				Name: p.key.Name, UID: p.wrapper.GetUID(),
			}},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: p.wrapper.GetGeneration(),
	}
	err = p.client.Create(ctx, obj)
	if apierrors.IsAlreadyExists(err) {
		return p.takeRevision(ctx, obj)
	}
	if err != nil {
		return fmt.Errorf("writing revision %s: %w", p.revision, err)
	}
	return nil
}

// takeRevision uses an existing revision of the same name if it belongs to this wrapper. If an earlier wrapper of this name
// left it to the garbage collector, takeRevision replaces it, so that it does not go with that wrapper.
func (p *reconciliation) takeRevision(ctx context.Context, wanted *appsv1.ControllerRevision) error {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(wanted), found); err != nil {
		return fmt.Errorf("reading revision %s: %w", p.revision, err)
	}
	if found.Labels[v1alpha1.LabelUID] == string(p.wrapper.GetUID()) {
		return nil
	}
	err := p.client.Delete(ctx, found, client.Preconditions{UID: &found.UID})
	if err == nil || apierrors.IsNotFound(err) {
		err = p.client.Create(ctx, wanted)
	}
	if err != nil {
		return fmt.Errorf("replacing revision %s of an earlier wrapper of this name: %w", p.revision, err)
	}
	return nil
}

// trimRevisions deletes the oldest revisions past the limit. It keeps those that the status names, and those in a member's
// Delivery, as far as the manager knows.
func (p *reconciliation) trimRevisions(ctx context.Context) error {
	if p.wrapper.GetGeneration() <= historyLimit {
		return nil // each generation writes at most one revision, so there are not too many yet
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	if err := p.live.List(ctx, list, client.InNamespace(v1alpha1.Identity(p.wrapper).Beside()),
		client.MatchingLabels{v1alpha1.LabelUID: string(p.wrapper.GetUID())}); err != nil {
		return fmt.Errorf("listing the revisions of %s: %w", p.key, err)
	}
	if len(list.Items) <= historyLimit {
		return nil
	}
	inUse := p.revisionsInUse()
	slices.SortFunc(list.Items, older)
	over := len(list.Items) - historyLimit
	for i := range list.Items {
		if over == 0 {
			return nil
		}
		old := &list.Items[i]
		if inUse[old.Name] {
			continue
		}
		if err := client.IgnoreNotFound(p.client.Delete(ctx, old, client.Preconditions{UID: &old.UID})); err != nil {
			return fmt.Errorf("trimming revision %s: %w", old.Name, err)
		}
		over--
	}
	return nil
}

// older orders revisions by when they were written. A creationTimestamp has whole seconds, and one second can see many
// revisions. But a revision never changes, so its resourceVersion gives the order.
func older(a, b metav1.PartialObjectMetadata) int {
	if order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion); err == nil {
		return order
	}
	return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
}

func (p *reconciliation) revisionsInUse() map[string]bool {
	status := p.wrapper.WrapperStatus()
	inUse := map[string]bool{p.revision: true, status.CurrentRevision: true, status.UpdateRevision: true}
	inUse[status.Rollout.Revision], inUse[status.Rollout.LastGoodRevision] = true, true
	for _, name := range p.pusher.DesiredMembers(p.key) {
		if desired := p.pusher.DesiredState(p.key, name); desired != nil {
			inUse[desired.Revision] = true
		}
	}
	for i := range status.Clusters {
		inUse[status.Clusters[i].Revision] = true
	}
	for _, name := range p.deliveries.Holders(p.key) {
		if seen := p.deliveries.Record(p.key, name).Summary; seen != nil {
			inUse[seen.Revision] = true
		}
	}
	return inUse
}
