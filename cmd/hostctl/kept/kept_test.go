// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestAMemberThatHostctlDoesNotReachIsToldApartFromOneThatRefuses(t *testing.T) {
	mc := &v1alpha1.MemberCluster{Spec: v1alpha1.MemberClusterSpec{Endpoint: "https://member-1:6443"}}
	const told = "hostctl itself has to reach the member's API server at https://member-1:6443"
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "deliveries"}, "", errors.New("no"))
	for name, test := range map[string]struct {
		err  error
		told bool
	}{
		"no such host":     {fmt.Errorf("reading: %w", &url.Error{Op: "Get", URL: "https://member-1:6443", Err: errors.New("no such host")}), true},
		"a refusal":        {fmt.Errorf("reading: %w", refused), false},
		"an answer's text": {errors.New("the answer is no Delivery"), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := unreached(mc, test.err)
			if strings.Contains(got.Error(), told) != test.told || !errors.Is(got, test.err) {
				t.Errorf("%v", got)
			}
		})
	}
	if unreached(mc, nil) != nil {
		t.Error("no error becomes one")
	}
}
