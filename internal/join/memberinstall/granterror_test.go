// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestRefusedGrantsNameTheRemedy(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, "fairlead-host-core", errors.New(strings.Repeat("rule ", 500)))
	err := explainGrant(forbidden, "member east")
	var grant *GrantError
	if !errors.As(err, &grant) || !apierrors.IsForbidden(err) {
		t.Fatalf("got %T: %v", err, err)
	}
	if diff := errortext.Diff("Use a kubeconfig with cluster-admin rights there (--cluster-kubeconfig), or allow less (--allow)", err); diff != "" {
		t.Error(diff)
	}
	if len(err.Error()) > 800 {
		t.Errorf("%d bytes of words", len(err.Error()))
	}
}
