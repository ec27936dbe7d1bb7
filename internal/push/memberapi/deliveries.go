// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// ReadDelivery reads a Delivery from the member. The error is a NotFound if the member has none of this name, and also if it does not serve
// Deliveries (IsPathGone).
func ReadDelivery(ctx context.Context, conn *member.Conn, name string) (*v1alpha1.Delivery, error) {
	found, err := answered(member.Do(ctx, conn.REST().Get().AbsPath(deliveries.Path(name)...), false))
	if err != nil {
		return nil, fmt.Errorf("reading Delivery %s on member %s: %w", name, conn.Name(), err)
	}
	if found.Name != name || found.UID == "" {
		return nil, fmt.Errorf("reading Delivery %s on member %s: the answer is no Delivery; check that spec.endpoint of the MemberCluster is a Kubernetes API server", name, conn.Name())
	}
	return found, nil
}

// CreateDelivery creates a Delivery with this name, these annotations and this spec. It returns the Delivery that the API server stored.
func CreateDelivery(ctx context.Context, conn *member.Conn, name string, annotations map[string]string, spec *v1alpha1.DeliverySpec) (*v1alpha1.Delivery, error) {
	return writeDelivery(ctx, conn, name, conn.REST().Post().AbsPath(deliveries.Path("")...), &v1alpha1.Delivery{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name, Annotations: annotations},
		Spec:       *spec,
	})
}

// PatchDelivery changes a Delivery by a JSON patch, and returns the Delivery that the API server stored. The API server answers 422 if a
// test of the patch fails.
//
// The patch also empties the managedFields of the Delivery. No program reads those of Deliveries, and they take half of each watch event.
// After it, the API server tracks no fields in later writes of that Delivery.
func PatchDelivery(ctx context.Context, conn *member.Conn, name string, patch []Operation) (*v1alpha1.Delivery, error) {
	// An empty list would leave them as they are. "add" replaces a present value.
	patch = append(patch, Operation{Op: "add", Path: "/metadata/managedFields", Value: []metav1.ManagedFieldsEntry{{}}})
	return writeDelivery(ctx, conn, name, conn.REST().Patch(types.JSONPatchType).AbsPath(deliveries.Path(name)...), patch)
}

// UnchangedSince returns the tests of a patch that a Delivery has this uid and this generation.
func UnchangedSince(uid types.UID, generation int64) []Operation {
	return []Operation{
		{Op: "test", Path: "/metadata/uid", Value: uid},
		{Op: "test", Path: "/metadata/generation", Value: generation},
	}
}

// writeDelivery asks for strict validation: without it, an API server whose CRD lacks a field drops the field and reports success. If
// it dropped the field adopted, for example, a later pass would delete an object that people on the member created. With strict
// validation, the API server refuses the write (MissingField).
func writeDelivery(ctx context.Context, conn *member.Conn, name string, req *rest.Request, content any) (*v1alpha1.Delivery, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding Delivery %s: %w", name, err)
	}
	req = req.Param("fieldManager", v1alpha1.FieldManager).Param("fieldValidation", metav1.FieldValidationStrict).Body(body)
	written, err := answered(member.Do(ctx, req, false))
	if err != nil {
		return nil, fmt.Errorf("writing Delivery %s on member %s: %w", name, conn.Name(), err)
	}
	return written, nil
}

// answered returns the Delivery in an answer.
func answered(answer member.Answer, err error) (*v1alpha1.Delivery, error) {
	if err != nil {
		return nil, err
	}
	is := &v1alpha1.Delivery{}
	return is, answer.Into(is)
}
