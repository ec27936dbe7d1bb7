// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// In BeforeStore a join waits until the member enforces the admission policy. The host must not get its token before.
func TestAJoinThatIsOvertakenCallsBeforeStoreOnceBeforeItStores(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ held, want []string }{
		// All names are in use. To use one again, the join writes to the host that its token is lost.
		"before it has a new token":   {permissions.TokenSecrets(permissions.HostAccount), []string{"refused write", "write", "BeforeStore", "write"}},
		"while it stores a new token": {nil, []string{"BeforeStore", "refused write", "write"}},
	} {
		t.Run(name, func(t *testing.T) {
			accounts := Accounts{Host: cluster.ServiceAccount(permissions.HostAccount), Collector: cluster.ServiceAccount(permissions.CollectorAccount)}
			accounts.Host.UID = "account"
			r := &renewing{issued: now, expires: now.Add(time.Hour), there: []client.Object{accounts.Host, accounts.Collector}}
			r.start(t, "opaque", tt.held...)
			accepts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":"Membership"}`, v1alpha1.GroupVersion)
			}))
			t.Cleanup(accepts.Close)
			var done []string
			host := interceptor.NewClient(r.host.(client.WithWatch), interceptor.Funcs{
				Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
					if !slices.Contains(done, "refused write") {
						done = append(done, "refused write")
						return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, obj.GetName(), nil)
					}
					done = append(done, "write")
					return c.Update(ctx, obj, opts...)
				}})
			_, err := Exchange{Host: cluster.Cluster{Client: host}, Member: cluster.Cluster{Client: r.member, Config: &rest.Config{Host: accepts.URL}},
				Steps: steps.NewRecorder(nil), Now: func() time.Time { return now }, Binding: credentials.Binding{Cluster: "east"},
				BeforeStore: func(context.Context, string) error { done = append(done, "BeforeStore"); return nil }}.Run(t.Context(), accounts)
			if diff := cmp.Diff(tt.want, done); diff != "" || err != nil {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}
