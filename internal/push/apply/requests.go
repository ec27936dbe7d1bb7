// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// WriteRequests sets the requests for evidence in a Delivery, and returns the Delivery. It changes nothing else, so it needs no pass. The
// API server answers 422 if the Delivery has another uid, or belongs to another wrapper. It refuses the write if its CRD of
// Deliveries lacks the field spec.requests (see memberapi.MissingField).
func WriteRequests(
	ctx context.Context, conn *member.Conn, key deliveries.Key, delivery, wrapper types.UID, requests []v1alpha1.EvidenceRequest,
) (*v1alpha1.Delivery, error) {
	if requests == nil {
		requests = []v1alpha1.EvidenceRequest{} // null is no list
	}
	patch := []memberapi.Operation{
		{Op: "test", Path: "/metadata/uid", Value: delivery},
		{Op: "test", Path: "/spec/wrapper/uid", Value: wrapper},
		{Op: "add", Path: "/spec/requests", Value: requests}, // "add" replaces a present list
	}
	if len(requests) == 0 {
		patch = append(patch, memberapi.Operation{Op: "remove", Path: "/spec/requests"})
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the requests of Delivery %s: %w", key.Delivery(), err)
	}
	answer, err := member.Do(ctx, conn.REST().Patch(types.JSONPatchType).AbsPath(deliveries.Path(key.Delivery())...).
		Param("fieldManager", v1alpha1.FieldManager).Param("fieldValidation", metav1.FieldValidationStrict).Body(body), false)
	if err != nil {
		return nil, fmt.Errorf("writing the requests of Delivery %s on member %s: %w", key.Delivery(), conn.Name(), err)
	}
	written := &v1alpha1.Delivery{}
	if err := answer.Into(written); err != nil {
		return nil, fmt.Errorf("writing the requests of Delivery %s on member %s: %w", key.Delivery(), conn.Name(), err)
	}
	return written, nil
}
