// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides"
)

// The paths of the webhooks; config/webhook names them too.
const (
	PathMutate   = "/mutate-wrappers"
	PathValidate = "/validate-wrappers"
)

// Register serves the webhooks. members looks up the registered members.
func Register(server webhook.Server, members Members) {
	reviews := newLimit()
	server.Register(PathMutate, answering(reviews, func(_ context.Context, q *question) *admissionv1.AdmissionResponse { return mutate(q) }))
	server.Register(PathValidate, answering(reviews, members.validate))
}

// mutate adds the finalizer to a wrapper that is being created. It decodes only the metadata. It runs before the API
// server checks the schema, and the API server's message about a wrong field is better than that of a JSON decoder.
func mutate(q *question) *admissionv1.AdmissionResponse {
	if q.Operation != admissionv1.Create {
		return allowed()
	}
	if _, err := q.wrapperKind(); err != nil {
		return unanswerable(err)
	}
	wrapper := metav1.PartialObjectMetadata{}
	if err := kjson.Unmarshal(q.Object, &wrapper); err != nil {
		return unanswerable(fmt.Errorf("reading the metadata of the %s: %w", q.Kind.Kind, err))
	}
	if !controllerutil.AddFinalizer(&wrapper, v1alpha1.Finalizer) {
		return allowed()
	}
	// The patch changes the finalizers only. Every other byte of the author's object stays.
	patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/finalizers","value":%s}]`, mustJSON(wrapper.Finalizers))
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(patch), PatchType: &kind}
}

// validate refuses a wrapper that could not be pushed to any member, and warns of settings that the author may not
// intend.
func (m Members) validate(ctx context.Context, q *question) *admissionv1.AdmissionResponse {
	kind, err := q.wrapperKind()
	if err != nil {
		return unanswerable(err)
	}
	wrapper, err := read(q.Object)
	if err != nil {
		return unanswerable(fmt.Errorf("reading the %s: %w", kind, err))
	}
	if wrapper.Metadata.DeletionTimestamp != nil {
		return allowed()
	}
	old := q.old()
	if old != nil && bytes.Equal(old.Spec, wrapper.Spec) {
		return allowed()
	}
	spec, err := wrapper.spec()
	if err != nil {
		return unanswerable(fmt.Errorf("reading the %s: %w", kind, err))
	}
	if old != nil {
		if before, err := old.spec(); err == nil && equality.Semantic.DeepEqual(before, spec) {
			return allowed()
		}
	}
	faults := overrides.Validate(spec, q.Namespace, kind)
	plan, err := rollout.Compile(rollout.StrategyOf(&spec.Rollout))
	if err != nil {
		faults = append(faults, field.Forbidden(field.NewPath("spec", "rollout"), err.Error()))
	}
	faults = append(faults, validateStartingCSVs(spec)...)
	if len(faults) == 0 {
		faults = overrides.ValidateWork(spec)
	}
	if len(faults) == 0 {
		response := allowed()
		response.Warnings = m.warnings(ctx, spec, plan)
		return response
	}
	refusal := apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.Group, Kind: string(kind)}, wrapper.Metadata.Name, faults)
	status := refusal.Status()
	return &admissionv1.AdmissionResponse{Result: &status}
}

// judged is the part of a wrapper that the webhook checks. It leaves out the status and the managedFields, which are
// larger.
type judged struct {
	Metadata struct {
		Name              string       `json:"name"`
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

func read(object []byte) (*judged, error) {
	j := &judged{}
	return j, kjson.Unmarshal(object, j)
}

func (j *judged) spec() (*v1alpha1.WrapperSpec, error) {
	spec := &v1alpha1.WrapperSpec{}
	if len(j.Spec) == 0 {
		return spec, nil
	}
	return spec, kjson.Unmarshal(j.Spec, spec)
}

func allowed() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

// unanswerable refuses a review that an API server would not send in this form.
func unanswerable(err error) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusBadRequest, Message: err.Error()}}
}

func mustJSON(names []string) []byte {
	data, err := json.Marshal(names)
	if err != nil {
		panic(err) // a list of strings always encodes
	}
	return data
}
