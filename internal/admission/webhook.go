// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides"
)

// The paths that the webhooks are served at; config/webhook names them.
const (
	PathMutate   = "/mutate-wrappers"
	PathValidate = "/validate-wrappers"
)

// Register serves the webhooks.
func Register(server webhook.Server, scheme *runtime.Scheme) {
	decoder := admission.NewDecoder(scheme)
	server.Register(PathMutate, shallow(&webhook.Admission{Handler: admission.HandlerFunc(
		func(_ context.Context, req admission.Request) admission.Response { return mutate(req) })}))
	server.Register(PathValidate, shallow(&webhook.Admission{Handler: admission.HandlerFunc(
		func(_ context.Context, req admission.Request) admission.Response { return validate(decoder, req) })}))
}

// mutate puts the finalizer on a wrapper that is being created. It looks at the metadata alone: it is asked before the
// schema is, whose words for a field of the wrong form name the field and the form, and ours would be a decoder's.
func mutate(req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create {
		return admission.Allowed("")
	}
	if _, err := newWrapper(req.Kind.Kind); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	wrapper := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(req.Object.Raw, &wrapper); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("reading the metadata of the %s: %w", req.Kind.Kind, err))
	}
	if !controllerutil.AddFinalizer(&wrapper, v1alpha1.Finalizer) {
		return admission.Allowed("")
	}
	// Only the finalizers are written back: what the author sent otherwise stays to the byte.
	patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/finalizers","value":%s}]`, mustJSON(wrapper.Finalizers))
	kind := admissionv1.PatchTypeJSONPatch
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(patch), PatchType: &kind}}
}

// validate refuses a wrapper that could not be pushed to anybody.
func validate(decoder admission.Decoder, req admission.Request) admission.Response {
	wrapper, err := decode(decoder, req.Kind.Kind, req.Object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if wrapper.GetDeletionTimestamp() != nil {
		return admission.Allowed("")
	}
	if req.Operation == admissionv1.Update {
		old, err := decode(decoder, req.Kind.Kind, req.OldObject)
		if err == nil && equality.Semantic.DeepEqual(old.WrapperSpec(), wrapper.WrapperSpec()) {
			return admission.Allowed("")
		}
	}
	faults := overrides.Validate(wrapper.WrapperSpec(), req.Namespace, wrapper.WrapperKind())
	if len(faults) == 0 {
		return admission.Allowed("")
	}
	refusal := apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.Group, Kind: req.Kind.Kind}, wrapper.GetName(), faults)
	status := refusal.Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: &status}}
}

func decode(decoder admission.Decoder, kind string, raw runtime.RawExtension) (v1alpha1.Wrapper, error) {
	wrapper, err := newWrapper(kind)
	if err != nil {
		return nil, err
	}
	if err := decoder.DecodeRaw(raw, wrapper); err != nil {
		return nil, fmt.Errorf("reading the %s: %w", kind, err)
	}
	return wrapper, nil
}

func newWrapper(kind string) (v1alpha1.Wrapper, error) {
	switch v1alpha1.WrapperKind(kind) {
	case v1alpha1.KindFederated:
		return &v1alpha1.Federated{}, nil
	case v1alpha1.KindClusterFederated:
		return &v1alpha1.ClusterFederated{}, nil
	default:
		return nil, fmt.Errorf("this webhook knows no kind %q", kind)
	}
}

func mustJSON(names []string) []byte {
	data, err := json.Marshal(names)
	if err != nil {
		panic(err) // a list of strings always encodes
	}
	return data
}
