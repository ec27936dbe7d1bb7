// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides"
)

// The paths of the webhooks; config/webhook names them too.
const (
	PathMutate   = "/mutate-wrappers"
	PathValidate = "/validate-wrappers"
)

// Register makes the server serve the two webhooks. members returns the registered members. history is the key with which
// the mutating webhook signs the annotation of a wrapper's author. reinstallsOperators is whether rollback: Reinstall has an effect.
func Register(server webhook.Server, members Members, history *revision.HistoryKey, reinstallsOperators bool) {
	reviews := newLimit()
	server.Register(PathMutate, answering(reviews, mutation{history}.mutate))
	server.Register(PathValidate, answering(reviews, validation{members, reinstallsOperators}.validate))
}

// validation is the validating webhook. reinstallsOperators is true if the manager was started with --reinstall-operators.
type validation struct {
	members             Members
	reinstallsOperators bool
}

// mutation is the mutating webhook. It changes only the metadata of wrappers.
type mutation struct{ history *revision.HistoryKey }

// mutate adds the finalizer to a wrapper that is being created. It also sets or removes the annotation of the author, except
// on a wrapper that is being deleted. The patch changes nothing else in the user's object.
func (m mutation) mutate(_ context.Context, q *question) *admissionv1.AdmissionResponse {
	kind, err := q.wrapperKind()
	if err != nil {
		return unanswerable(err)
	}
	wrapper, err := read(q.Object)
	if err != nil {
		return unanswerable(fmt.Errorf("reading the metadata of the %s: %w", kind, err))
	}
	if wrapper.Metadata.DeletionTimestamp != nil {
		return allowed()
	}
	var patch []patchOperation
	if finalizers := wrapper.Metadata.Finalizers; q.Operation == admissionv1.Create && !slices.Contains(finalizers, v1alpha1.Finalizer) {
		patch = append(patch, patchOperation{"add", "/metadata/finalizers", append(finalizers, v1alpha1.Finalizer)})
	}
	patch = append(patch, annotate(wrapper.Metadata.Annotations, v1alpha1.AnnotationAuthor, m.author(kind, q, wrapper))...)
	if len(patch) == 0 {
		return allowed()
	}
	return &admissionv1.AdmissionResponse{Allowed: true, Patch: mustJSON(patch), PatchType: new(admissionv1.PatchTypeJSONPatch)}
}

// validate refuses a wrapper whose spec has a fault that the schema cannot find, and warns of settings that the author may
// not intend. It accepts a wrapper that is being deleted, and an update that leaves the spec unchanged.
func (v validation) validate(ctx context.Context, q *question) *admissionv1.AdmissionResponse {
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
	before := (*v1alpha1.WrapperSpec)(nil)
	if old != nil {
		if before, err = old.spec(); err != nil {
			before = nil
		}
		if before != nil && equality.Semantic.DeepEqual(before, spec) {
			return allowed()
		}
	}
	faults := overrides.Validate(spec, q.Namespace, kind)
	plan, err := rollout.Compile(rollout.StrategyOf(&spec.Rollout))
	if err != nil {
		faults = append(faults, field.Forbidden(field.NewPath("spec", "rollout"), err.Error()))
	}
	faults = append(faults, validateStartingCSVs(spec)...)
	faults = append(faults, v.validateReinstalls(before, spec)...)
	if len(faults) == 0 {
		faults = overrides.ValidateWork(spec)
	}
	if len(faults) == 0 {
		response := allowed()
		response.Warnings = v.warnings(ctx, before, spec, plan)
		return response
	}
	refusal := apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.Group, Kind: string(kind)}, wrapper.Metadata.Name, faults)
	status := refusal.Status()
	return &admissionv1.AdmissionResponse{Result: &status}
}

// judged is the part of a wrapper that the webhooks read. It leaves out the status and the managedFields, which take more
// memory than the rest.
type judged struct {
	Metadata struct {
		Name              string            `json:"name"`
		DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
		Finalizers        []string          `json:"finalizers"`
		Annotations       map[string]string `json:"annotations"`
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

// unanswerable returns a refusal with code 400, for a review that the webhook cannot decode or that is not about a wrapper.
func unanswerable(err error) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusBadRequest, Message: err.Error()}}
}
