// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// tokenFor is a token with a life, as far as readToken reads one.
func tokenFor(issued, expires time.Time) string {
	return jwt(fmt.Sprintf(`{"iat":%d,"exp":%d}`, issued.Unix(), expires.Unix()))
}

func TestRenew(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	months := func(n int) time.Time { return now.AddDate(0, n, 0) }
	next, hour := tokenFor(now, months(12)), now.Add(time.Hour)
	for name, tt := range map[string]struct {
		token       string
		gives       string // next where it is empty
		now         time.Time
		wantRenewed bool
		wantToken   string
		wantDue     bool
		wantErr     string
	}{
		"a token with most of its life ahead stays":              {token: tokenFor(months(-1), months(11)), wantToken: tokenFor(months(-1), months(11)), wantDue: true},
		"one with less than a third ahead is replaced":           {token: tokenFor(months(-10), months(2)), wantRenewed: true, wantToken: next, wantDue: true},
		"one that has ended is tried too, the clocks may differ": {token: tokenFor(months(-13), months(-1)), wantRenewed: true, wantToken: next, wantDue: true},
		"an hour of life is judged by the clock of whoever gave it": {now: hour, token: tokenFor(hour, hour.Add(time.Hour)),
			wantToken: tokenFor(hour, hour.Add(time.Hour)), wantDue: true},
		"one that would be due at once is not kept": {token: tokenFor(months(-13), months(-1)), gives: tokenFor(months(-12), months(-1)),
			wantToken: tokenFor(months(-13), months(-1)), wantDue: true, wantErr: "of which too little is left"},
		"a token that is none of ours is left alone": {token: "opaque", wantToken: "opaque"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "east"},
				Type:       v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretToken: []byte(tt.token)},
			}
			host := fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret).Build()
			member := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				SubResourceCreate: func(_ context.Context, _ client.Client, sub string, account client.Object, request client.Object, _ ...client.SubResourceCreateOption) error {
					if sub != "token" || account.GetName() != HostAccount {
						t.Errorf("asked for %s of %s", sub, account.GetName())
					}
					request.(*authenticationv1.TokenRequest).Status.Token = cmp.Or(tt.gives, next)
					return nil
				},
			}).Build()
			if err := host.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
				t.Fatal(err)
			}
			at := now
			if !tt.now.IsZero() {
				at = tt.now
			}
			got, err := Renew(t.Context(), host, member, secret, at)
			if diff := wordsDiff(tt.wantErr, err); diff != "" {
				t.Fatal(diff)
			}
			if got.Renewed != tt.wantRenewed || got.Due.IsZero() == tt.wantDue {
				t.Errorf("Renew() = %+v, want renewed %t, due %t", got, tt.wantRenewed, tt.wantDue)
			}
			if err := host.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
				t.Fatal(err)
			}
			if have := string(secret.Data[v1alpha1.SecretToken]); have != tt.wantToken {
				t.Errorf("the Secret holds %s, want %s", have, tt.wantToken)
			}
		})
	}
}
