// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// requests makes the requests about a list of shared intents and about the Deliveries of its entries.
type requests struct {
	conn *member.Conn
	// writer is the uid of the host that writes the list.
	writer types.UID
}

// get reads a Delivery from the member; nil when the member has none of this name.
func (r *requests) get(ctx context.Context, name string) (*v1alpha1.Delivery, error) {
	found, err := memberapi.ReadDelivery(ctx, r.conn, name)
	if memberapi.IsAbsent(err) {
		return nil, nil
	}
	return found, err
}

// targetOf returns the spec.target.rendering of a list with these entries: their digest.
func targetOf(text string) string { return digest.Of([]byte(text)) }

// write creates the list with these entries, or replaces its entries if it still is the one in there. seal is that of an entry: a member
// whose CRD lacks that field refuses the list, as it would refuse the Deliveries of the entries.
func (r *requests) write(ctx context.Context, there *v1alpha1.Delivery, text, seal string) (*v1alpha1.Delivery, error) {
	spec := v1alpha1.DeliverySpec{
		Wrapper: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindClusterFederated, Name: marks.SharedIntents, UID: r.writer, Generation: 1},
		Seal:    seal,
		Target:  &v1alpha1.DeliveryTarget{Rendering: targetOf(text)},
	}
	annotations := map[string]string{Annotation: text}
	var written *v1alpha1.Delivery
	var err error
	if there == nil {
		written, err = memberapi.CreateDelivery(ctx, r.conn, marks.SharedIntents, annotations, &spec)
	} else {
		written, err = memberapi.PatchDelivery(ctx, r.conn, marks.SharedIntents, append(memberapi.UnchangedSince(there.UID, there.Generation),
			memberapi.Operation{Op: "replace", Path: "/metadata/annotations", Value: annotations},
			memberapi.Operation{Op: "replace", Path: "/spec", Value: spec}))
	}
	if err != nil {
		return nil, err
	}
	written.Annotations, written.ManagedFields = nil, nil // only its version is needed
	return written, nil
}

// deliver makes the Delivery of an entry's pair: it creates the Delivery, or adds the entry's objects that a Delivery of
// this name does not list. It returns that Delivery.
func (r *requests) deliver(ctx context.Context, entry *v1alpha1.DeliverySpec) (*v1alpha1.Delivery, error) {
	name := deliveries.KeyOf(entry.Wrapper).Delivery()
	var refusal error
	for range maxTries {
		there, err := r.get(ctx, name)
		if err != nil {
			return nil, err
		}
		var written *v1alpha1.Delivery
		if there == nil {
			written, err = memberapi.CreateDelivery(ctx, r.conn, name, nil, entry)
		} else {
			missing := unlisted(entry, &there.Spec)
			if len(missing) == 0 {
				return there, nil
			}
			written, err = memberapi.PatchDelivery(ctx, r.conn, name, append(memberapi.UnchangedSince(there.UID, there.Generation),
				memberapi.Operation{Op: "add", Path: "/spec/inventory", Value: append(there.Spec.Inventory, missing...)})) // "add" replaces a present list
		}
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) && there != nil {
			refusal = err
			continue // another client wrote the Delivery at the same time
		}
		if err != nil {
			return nil, fmt.Errorf("delivering an entry of the list of shared intents: %w", err)
		}
		return written, nil
	}
	return nil, fmt.Errorf("delivering an entry of the list of shared intents, %d times: %w", maxTries, refusal)
}

// maxTries bounds how often deliver tries to write a Delivery that other clients keep changing.
const maxTries = 3
