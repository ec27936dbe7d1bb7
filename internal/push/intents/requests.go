// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

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
	answer, err := member.Do(ctx, r.conn.REST().Get().AbsPath(deliveries.Path(name)...), false)
	if apierrors.IsNotFound(err) && !memberapi.IsPathGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Delivery %s on member %s: %w", name, r.conn.Name(), err)
	}
	found := &v1alpha1.Delivery{}
	if err := answer.Into(found); err != nil {
		return nil, fmt.Errorf("reading Delivery %s on member %s: %w", name, r.conn.Name(), err)
	}
	if found.Name != name || found.UID == "" {
		return nil, fmt.Errorf("reading Delivery %s on member %s: the answer is no Delivery; check that spec.endpoint of the MemberCluster is a Kubernetes API server",
			name, r.conn.Name())
	}
	return found, nil
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
	var req *rest.Request
	var content any
	if there == nil {
		req = r.conn.REST().Post().AbsPath(deliveries.Path("")...)
		content = &v1alpha1.Delivery{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: marks.SharedIntents,
				Annotations: map[string]string{Annotation: text}},
			Spec: spec,
		}
	} else {
		req = r.conn.REST().Patch(types.JSONPatchType).AbsPath(deliveries.Path(marks.SharedIntents)...)
		content = []memberapi.Operation{
			{Op: "test", Path: "/metadata/uid", Value: there.UID},
			{Op: "test", Path: "/metadata/generation", Value: there.Generation},
			{Op: "replace", Path: "/metadata/annotations", Value: map[string]string{Annotation: text}},
			{Op: "replace", Path: "/spec", Value: spec},
		}
	}
	written, err := send(ctx, req, content)
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
		var req *rest.Request
		var content any
		if there == nil {
			req = r.conn.REST().Post().AbsPath(deliveries.Path("")...)
			content = &v1alpha1.Delivery{
				TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
				ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name},
				Spec:       *entry,
			}
		} else {
			missing := unlisted(entry, &there.Spec)
			if len(missing) == 0 {
				return there, nil
			}
			req = r.conn.REST().Patch(types.JSONPatchType).AbsPath(deliveries.Path(name)...)
			content = []memberapi.Operation{
				{Op: "test", Path: "/metadata/uid", Value: there.UID},
				{Op: "test", Path: "/metadata/generation", Value: there.Generation},
				{Op: "add", Path: "/spec/inventory", Value: append(there.Spec.Inventory, missing...)}, // "add" replaces a present list
			}
		}
		written, err := send(ctx, req, content)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) && there != nil {
			refusal = err
			continue // somebody wrote the Delivery at the same time
		}
		if err != nil {
			return nil, fmt.Errorf("writing Delivery %s on member %s from the list of shared intents: %w", name, r.conn.Name(), err)
		}
		return written, nil
	}
	return nil, fmt.Errorf("writing Delivery %s on member %s from the list of shared intents, %d times: %w", name, r.conn.Name(), maxTries, refusal)
}

// maxTries bounds how often deliver tries to write a Delivery that other clients keep changing.
const maxTries = 3

// send sends a write of a Delivery, and returns the Delivery that the API server answered. With strict validation an API server whose CRD
// lacks a field refuses the write instead of dropping the field.
func send(ctx context.Context, req *rest.Request, content any) (*v1alpha1.Delivery, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	answer, err := member.Do(ctx, req.Param("fieldManager", v1alpha1.FieldManager).Param("fieldValidation", metav1.FieldValidationStrict).Body(body), false)
	if err != nil {
		return nil, err
	}
	written := &v1alpha1.Delivery{}
	return written, answer.Into(written)
}
