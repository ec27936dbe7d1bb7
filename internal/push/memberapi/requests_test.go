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
		err  error
		want bool
	}{
		"an object":                        {apierrors.NewNotFound(jobs, "j"), false},
		"an object, in a longer message":   {fmt.Errorf("reading it: %w", apierrors.NewNotFound(jobs, "j")), false},
		"the object's namespace":           {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), false},
		"plain text":                       {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobs, "", "404 page not found", 0, true), true},
		"plain text, with the name":        {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", jobs, "j", "404 page not found", 0, true), true},
		"a kind of a group that is served": {without(&metav1.StatusDetails{}), true},
		"a Status without details":         {without(nil), true},
		"another refusal":                  {apierrors.NewForbidden(jobs, "j", errors.New("no")), false},
		"no answer":                        {errors.New("connection refused"), false},
		"no error":                         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := memberapi.IsPathGone(test.err); got != test.want {
				t.Errorf("the path is gone: %t, want %t", got, test.want)
			}
		})
	}
}
