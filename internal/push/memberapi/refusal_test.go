// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kfield "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
)

func TestExplainTurnsARefusalIntoTrouble(t *testing.T) {
	invalid := func(field, message string, kind metav1.CauseType) error {
		err := apierrors.NewInvalid(schema.GroupKind{Kind: "X"}, "x", nil)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: kind, Field: field, Message: message}}
		return err
	}
	for name, test := range map[string]struct {
		err    error
		reason string
		state  v1alpha1.ClusterState
	}{
		"a field that says that it is immutable": {invalid("spec.selector", "Invalid value: field is immutable",
			metav1.CauseTypeFieldValueInvalid), v1alpha1.ReasonImmutableField, v1alpha1.StateStalled},
		"updates that are forbidden": {invalid("parameters", "Forbidden: updates to parameters are forbidden.",
			metav1.CauseType("FieldValueForbidden")), v1alpha1.ReasonImmutableField, v1alpha1.StateStalled},
		"the role of a binding": {invalid("roleRef", "Invalid value: cannot change roleRef",
			metav1.CauseTypeFieldValueInvalid), v1alpha1.ReasonImmutableField, v1alpha1.StateStalled},
		"another invalid value": {invalid("spec.ports", "Required value", metav1.CauseTypeFieldValueRequired),
			v1alpha1.ReasonInvalid, v1alpha1.StateStalled},
		"RBAC": {apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "x",
			errors.New(`User "u" cannot patch resource "services" in API group "" in the namespace "n"`)), v1alpha1.ReasonNotGranted,
			v1alpha1.StateStalled},
		"a grant of rights that the host lacks": {apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "x",
			errors.New(`user "u" is attempting to grant RBAC permissions not currently held`)), v1alpha1.ReasonNotGranted, v1alpha1.StateStalled},
		"a quota": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x",
			errors.New("exceeded quota: q")), v1alpha1.ReasonRefused, v1alpha1.StateStalled},
		"an admission policy": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New("denied by policy")),
			v1alpha1.ReasonRefused, v1alpha1.StateStalled},
		"the policy that restricts the host to open namespaces": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x",
			errors.New("ValidatingAdmissionPolicy 'fairlead-host' with binding 'fairlead-host' denied request: namespace n is not open to the host")),
			v1alpha1.ReasonNamespaceNotOpen, v1alpha1.StateStalled},
		"a validating policy with a misleading message": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid,
			Message: `x "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: this is immutable, you cannot change it in API group`,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: "this is immutable"}}}}}, v1alpha1.ReasonRefused, v1alpha1.StateStalled},
		"a webhook, which chooses its code": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError,
			Message: `admission webhook "w.example.com" denied the request: no`}}, v1alpha1.ReasonRefused, v1alpha1.StateStalled},
		"a value of another type than in the schema": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500,
			Message: "failed to create typed patch object (n/x; /v1, Kind=X): .data.x: expected string, got &value.valueUnstructured{Value:5}"}},
			v1alpha1.ReasonInvalid, v1alpha1.StateStalled},
		"a namespace that terminates": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x",
			errors.New("unable to create new content in namespace n because it is being terminated")), v1alpha1.ReasonNamespaceTerminating,
			v1alpha1.StateWaiting},
		"a conflict": {apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "x", errors.New("changed")),
			v1alpha1.ReasonPushError, v1alpha1.StateDegraded},
		"an API whose server does not answer": {apierrors.NewServiceUnavailable("no endpoints"), v1alpha1.ReasonPushError, v1alpha1.StateDegraded},
		"a webhook that does not answer": {apierrors.NewInternalError(errors.New("failed calling webhook")), v1alpha1.ReasonPushError,
			v1alpha1.StateDegraded},
	} {
		t.Run(name, func(t *testing.T) {
			got := Explain("applying", "X x", test.err)
			if diff := cmp.Diff([]string{test.reason, string(test.state)}, []string{got.Reason, string(got.State)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Retry == 0 {
				t.Error("the pass is not tried again")
			}
		})
	}
}

// An aggregated API has a server of its own. If that server fails, only the objects of its group are in trouble.
func TestWhichErrorsConcernOneAPIGroupOnly(t *testing.T) {
	status := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code}}
	}
	for name, test := range map[string]struct {
		group string
		err   error
		alone bool
	}{
		"its server does not answer":                        {"shop.example.com", apierrors.NewServiceUnavailable("no endpoints"), true},
		"its server does not answer, wrapped":               {"shop.example.com", fmt.Errorf("applying: %w", status(503)), true},
		"its server sends an invalid answer":                {"shop.example.com", status(502), true},
		"its server takes too long":                         {"shop.example.com", status(504), true},
		"a refusal":                                         {"shop.example.com", apierrors.NewBadRequest("no"), true},
		"the member does not answer":                        {"shop.example.com", errors.New("connection refused"), false},
		"too many requests":                                 {"shop.example.com", apierrors.NewTooManyRequests("slow", 1), false},
		"the credentials":                                   {"shop.example.com", apierrors.NewUnauthorized("no"), false},
		"the API server itself does not answer":             {"apps", apierrors.NewServiceUnavailable("bye"), false},
		"the API server itself does not answer, core group": {"", apierrors.NewServiceUnavailable("bye"), false},
		"the group of Deliveries":                           {v1alpha1.Group, apierrors.NewServiceUnavailable("bye"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AnsweredAbout(test.group, test.err); got != test.alone {
				t.Errorf("answeredAbout(%q, %v) = %v", test.group, test.err, got)
			}
		})
	}
}

func TestExplainRemovesGoTypesFromAMembersMessage(t *testing.T) {
	got := Explain("applying", "ConfigMap a", &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500,
		Message: "failed to create typed patch object (n/a; /v1, Kind=ConfigMap): .data.x: expected string, got &value.valueUnstructured{Value:5}"}})
	want := "applying ConfigMap a: failed to create typed patch object (n/a; /v1, Kind=ConfigMap): .data.x: expected string, got 5"
	if diff := cmp.Diff(want, got.Message); diff != "" {
		t.Error(diff)
	}
}

func TestExplainNamesNullFieldsAndTheRemedy(t *testing.T) {
	// These are the messages of a real API server.
	null := func(field, form string) *kfield.Error {
		return &kfield.Error{Type: kfield.ErrorTypeTypeInvalid, Field: field, BadValue: "null", Detail: fmt.Sprintf("%s in body must be of type %s: \"null\"", field, form)}
	}
	other := kfield.Invalid(kfield.NewPath("spec", "size"), 9, "spec.size in body should be less than or equal to 5")
	refusal := func(errs ...*kfield.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Gauge"}, "g", errs)
	}
	const way = ": take it out of the wrapper (`kubectl create` drops nulls, server-side apply does not; `hostctl federate` leaves them out); "
	for name, test := range map[string]struct {
		err  error
		want string // what the message begins with
	}{
		"one":          {refusal(null("spec.cephfs", "object")), "applying Gauge g: null in spec.cephfs" + way},
		"many":         {refusal(null("spec.d", "object"), null("spec.a", "object"), null("spec.b", "integer"), null("spec.c", "string")), "applying Gauge g: null in spec.a, spec.b, spec.c and 1 more" + way},
		"among others": {refusal(other, null("spec.cephfs", "object")), "applying Gauge g: null in spec.cephfs" + way},
		"none":         {refusal(other), "applying Gauge g: Gauge.example.com \"g\" is invalid: spec.size"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Explain("applying", "Gauge g", test.err)
			if got.Reason != v1alpha1.ReasonInvalid || got.State != v1alpha1.StateStalled || !strings.HasPrefix(got.Message, test.want) {
				t.Errorf("%s %s: %s", got.State, got.Reason, got.Message)
			}
			if !strings.Contains(got.Message, test.err.Error()) {
				t.Errorf("the API server's message is missing in %s", got.Message)
			}
		})
	}
}

func TestWhichErrorsConcernTheWholeMember(t *testing.T) {
	for name, test := range map[string]struct {
		err      error
		concerns bool
	}{
		"no error":                      {nil, false},
		"the network":                   {errors.New("connection refused"), true},
		"the network, wrapped":          {fmt.Errorf("applying: %w", errors.New("connection refused")), true},
		"a timeout":                     {context.DeadlineExceeded, true},
		"the manager stops":             {fmt.Errorf("applying: %w", context.Canceled), false},
		"the credentials":               {apierrors.NewUnauthorized("no"), true},
		"too many requests":             {apierrors.NewTooManyRequests("slow", 1), true},
		"the server shuts down":         {apierrors.NewServiceUnavailable("bye"), true},
		"a timeout of the server":       {apierrors.NewTimeoutError("etcd", 1), true},
		"a refusal":                     {apierrors.NewForbidden(schema.GroupResource{}, "x", nil), false},
		"a failure with one object":     {apierrors.NewInternalError(errors.New("webhook")), false},
		"the lease of the manager":      {fmt.Errorf("applying: %w", &member.HeldBackError{Why: errors.New("it is old")}), false},
		"discovery that cannot be used": {fmt.Errorf("finding: %w", &discovery.InvalidError{What: "group x", Why: "it has too many"}), false},
		"a refusal, wrapped":            {fmt.Errorf("applying: %w", apierrors.NewBadRequest("no")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ConcernsMember(test.err); got != test.concerns {
				t.Errorf("ConcernsMember(%v) = %v", test.err, got)
			}
		})
	}
}

// A refusal becomes part of a status and of events, and more people can read those than can read Secrets.
func TestExplainQuotesNoValueOfASecret(t *testing.T) {
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "failed to create typed patch object (n/x; /v1, Kind=Secret): " +
		"errors:\n  .data.p: expected string, got &value.valueUnstructured{Value:123456}\n  .stringData.q: expected string, got &value.valueUnstructured{Value:654321}"}}
	for object, quoted := range map[string]bool{"Secret x": false, "ConfigMap x": true} {
		got := Explain("applying", object, err)
		if strings.Contains(got.Message, "123456") != quoted || strings.Contains(got.Message, "654321") != quoted || !strings.Contains(got.Message, ".stringData.q") {
			t.Errorf("the message about %s: %s", object, got.Message)
		}
	}
}

// Redaction must leave what a person needs to repair a refusal: the names of objects and fields, and the numbers of a quota.
func TestExplainKeepsNamesAndNumbers(t *testing.T) {
	for _, text := range []string{
		`Secret "db-password" is invalid: data[api-token]: Invalid value: "x"`,
		`serviceaccounts "web-token-x7k2p" not found`,
		`admission webhook "secrets.example.com" denied the request: Secret shop/oauth-credentials needs label team`,
		`pods "web-5d8f7c9b64-x7k2p" is forbidden: exceeded quota: compute, requested: limits.cpu=2, used: limits.cpu=7, limited: limits.cpu=8`,
		`Deployment.apps "web" is invalid: spec.template.spec.containers[0].env[2].valueFrom.secretKeyRef.key: Required value`,
		`image registry.example.com/shop/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 is not signed`,
	} {
		got := Explain("applying", "Secret db-password", apierrors.NewBadRequest(text))
		if want := "applying Secret db-password: " + text; got.Message != want {
			t.Errorf("got  %s\nwant %s", got.Message, want)
		}
	}
}
