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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	server.Register(PathMutate, &webhook.Admission{Handler: admission.HandlerFunc(
		func(_ context.Context, req admission.Request) admission.Response { return mutate(decoder, req) })})
	server.Register(PathValidate, &webhook.Admission{Handler: admission.HandlerFunc(
		func(_ context.Context, req admission.Request) admission.Response { return validate(decoder, req) })})
}

// mutate puts the finalizer on a wrapper that is being created.
func mutate(decoder admission.Decoder, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create {
		return admission.Allowed("")
	}
	wrapper, err := decode(decoder, req.Kind.Kind, req.Object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !controllerutil.AddFinalizer(wrapper.(client.Object), v1alpha1.Finalizer) { //nolint:forcetypeassert // both wrappers are client.Objects
		return admission.Allowed("")
	}
	// Only the finalizers are written back: what the author sent otherwise stays to the byte.
	patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/finalizers","value":%s}]`, mustJSON(wrapper.GetFinalizers()))
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
	var wrapper v1alpha1.Wrapper
	switch v1alpha1.WrapperKind(kind) {
	case v1alpha1.KindFederated:
		wrapper = &v1alpha1.Federated{}
	case v1alpha1.KindClusterFederated:
		wrapper = &v1alpha1.ClusterFederated{}
	default:
		return nil, fmt.Errorf("this webhook knows no kind %q", kind)
	}
	return wrapper, decoder.DecodeRaw(raw, wrapper)
}

func mustJSON(names []string) []byte {
	data, err := json.Marshal(names)
	if err != nil {
		panic(err) // a list of strings always encodes
	}
	return data
}
