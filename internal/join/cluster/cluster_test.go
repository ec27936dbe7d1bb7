// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// The kubeconfig that a join uses has the rights of an administrator, so its credentials must not follow a redirect.
func TestAJoinFollowsNoRedirect(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	w, err := Connect(&rest.Config{Host: server.URL, BearerToken: "secret"}, "member east", false)
	if err != nil {
		t.Fatal(err)
	}
	err = w.Client.Get(t.Context(), types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{})
	refused := (*redirect.Error)(nil)
	if told := Explain(err, "member east", server.URL); !errors.As(err, &refused) || !strings.Contains(told.Error(), "reaching member east at") {
		t.Errorf("%v", err)
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}
