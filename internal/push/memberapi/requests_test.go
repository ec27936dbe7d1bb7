// SPDX-License-Identifier: Apache-2.0

package memberapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// The answers are those of Kubernetes 1.35.
func TestOnlyA404ThatNamesWhatIsAbsentProvesThatItIsAbsent(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	without := func(details *metav1.StatusDetails) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			Message: "the server could not find the requested resource", Details: details}}
	}
	for name, test := range map[string]struct {
		err    error
		gone   bool // the path
		absent bool // the object
	}{
		"an object":                        {apierrors.NewNotFound(jobs, "j"), false, true},
		"an object, in a longer message":   {fmt.Errorf("reading it: %w", apierrors.NewNotFound(jobs, "j")), false, true},
		"the object's namespace":           {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), false, true},
		"plain text":                       {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobs, "", "404 page not found", 0, true), true, false},
		"plain text, with the name":        {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobs, "j", "404 page not found", 0, true), true, false},
		"a kind of a group that is served": {without(&metav1.StatusDetails{}), true, false},
		"a Status without details":         {without(nil), true, false},
		"a webhook that names the object": {&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			Message: `admission webhook "w.example.com" denied the request: no`, Details: &metav1.StatusDetails{Name: "j"}}}, false, false},
		"another refusal": {apierrors.NewForbidden(jobs, "j", errors.New("no")), false, false},
		"no answer":       {errors.New("connection refused"), false, false},
		"no error":        {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if gone, absent := memberapi.IsPathGone(test.err), memberapi.IsAbsent(test.err); gone != test.gone || absent != test.absent {
				t.Errorf("the path is gone: %t, want %t; the object is absent: %t, want %t", gone, test.gone, absent, test.absent)
			}
		})
	}
}
