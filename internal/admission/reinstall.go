// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"

	admissionv1 "k8s.io/api/admission/v1"
)

// validation is the validating webhook.
type validation struct {
	Members

	// reinstallsOperators is true if the manager was started with --reinstall-operators.
	reinstallsOperators bool
}

// validate does the same as Members.validate. It also warns if spec.upgrade.rollback: Reinstall has no effect.
func (v validation) validate(ctx context.Context, q *question) *admissionv1.AdmissionResponse {
	response := v.Members.validate(ctx, q)
	if v.reinstallsOperators || !response.Allowed || !bytes.Contains(q.Object, []byte(`"Reinstall"`)) {
		return response
	}
	wrapper, err := read(q.Object)
	if err != nil {
		return response
	}
	if spec, err := wrapper.spec(); err == nil && spec.Upgrade.Reinstalls() {
		response.Warnings = append(response.Warnings, "spec.upgrade.rollback: Reinstall has no effect, because the manager runs without --reinstall-operators")
	}
	return response
}
