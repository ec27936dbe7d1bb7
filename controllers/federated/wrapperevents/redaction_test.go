// SPDX-License-Identifier: Apache-2.0

package wrapperevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

// refusals has the ways in which an API server, or a webhook behind it, can refuse a write. Each answer contains text.
func refusals(text string) map[string]error {
	resource, kind := schema.GroupResource{Resource: "secrets"}, schema.GroupKind{Kind: "Secret"}
	invalid := func(field, message string) error {
		err := apierrors.NewInvalid(kind, "db-password", nil)
		err.ErrStatus.Message = `Secret "db-password" is invalid: ` + text
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: field, Message: message}}
		return err
	}
	return map[string]error{
		"the policy of the join": apierrors.NewForbidden(resource, "db-password",
			errors.New("ValidatingAdmissionPolicy 'fairlead-host' with binding 'fairlead-host' denied request: "+text)),
		"another policy":   apierrors.NewForbidden(resource, "db-password", errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "+text)),
		"a webhook":        apierrors.NewForbidden(resource, "db-password", errors.New(`admission webhook "w.example.com" denied the request: `+text)),
		"a broken webhook": apierrors.NewInternalError(errors.New("failed calling webhook: " + text)),
		"a value of another type": &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500,
			Message: "failed to create typed patch object (n/x; /v1, Kind=ConfigMap): .data.x: expected map, got &value.valueUnstructured{Value:" + text + "}"}},
		"a quota":               apierrors.NewForbidden(resource, "db-password", errors.New("exceeded quota: "+text)),
		"RBAC":                  apierrors.NewForbidden(schema.GroupResource{Group: text, Resource: text}, "x", errors.New(`User "u" cannot patch resource "x" in API group ""`)),
		"RBAC, of a grant":      apierrors.NewForbidden(resource, "x", errors.New("user is attempting to grant RBAC permissions not currently held: "+text)),
		"an immutable field":    invalid(text, "field is immutable"),
		"a null":                invalid(text, `x in body must be of type object: "null"`),
		"another invalid value": invalid("data.x", text),
		"a conflict":            apierrors.NewConflict(resource, "db-password", errors.New(text)),
		"a bad request":         apierrors.NewBadRequest(text),
		"a server that is away": apierrors.NewServiceUnavailable(text),
	}
}

// told returns everything that a wrapper's status and events tell when a push to its only member has this problem.
func told(t *testing.T, problem report.Push) string {
	t.Helper()
	member := report.Member{Name: "east", Revision: "r2", Reachability: report.Reachability{Known: true, Usable: true}, Push: problem}
	before := &v1alpha1.WrapperStatus{}
	after := report.Build(report.Input{Generation: 1, UpdateRevision: "r2", PlacedOK: true, Members: []report.Member{member}, Before: before}, time.Unix(0, 0))
	text, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{string(text)}
	for _, e := range Readiness(before, &after, false) {
		all = append(all, e.note)
	}
	if len(all) < 2 {
		t.Fatalf("no event: %s", text)
	}
	return strings.Join(all, "\n")
}

// More people may read a wrapper's status and events than the Secrets and webhooks of a member.
func TestNoSecretOfAMembersErrorIsInTheStatusAndTheEvents(t *testing.T) {
	const object = "Secret db-password"
	for _, text := range secretcorpus.InSentences(t) {
		problems := map[string]report.Push{}
		for name, err := range refusals(text) {
			is := memberapi.Explain("applying", object, err)
			problems["refused by "+name] = report.Push{State: is.State, Reason: is.Reason, Message: is.Message}
		}
		var history plan.History
		history.Failed(nil, fmt.Errorf("applying %s to member east: %w", object, errors.New(text)), time.Unix(0, 0))
		is := history.Last()
		problems["a pass that failed"] = report.Push{State: is.State, Reason: is.Reason, Message: is.Message}
		for name, problem := range problems {
			switch got := told(t, problem); {
			case strings.Contains(problem.Message+got, secretcorpus.Word):
				t.Errorf("%s, %q: %s\n%s", name, text, problem.Message, got)
			case !strings.Contains(got, object):
				t.Errorf("%s, %q: the name of the object is lost: %s", name, text, got)
			}
		}
	}
}
