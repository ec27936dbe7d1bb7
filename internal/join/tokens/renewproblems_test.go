// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// All names of token Secrets are in use, so the manager deletes one of these Secrets. A join may have created it a moment
// ago, and may be about to store its token.
func TestARenewalThatMakesRoomStopsAJoinUnderWay(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	names := permissions.TokenSecrets(permissions.HostAccount)
	r := &renewing{issued: now, expires: now.Add(30 * 24 * time.Hour)}
	r.start(t, tokenFor(now.Add(-25*time.Hour), now.Add(29*24*time.Hour), names[0]), names...)
	join := r.secret.DeepCopy() // the Secret at the host, as read by a join that then created the token Secret names[1]
	deleted := false
	makes := interceptor.NewClient(r.member.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			deleted = deleted || obj.GetName() == names[1]
			join.Data[v1alpha1.SecretToken] = []byte(tokenFor(now, now.Add(time.Hour), names[1]))
			if err := r.host.Update(ctx, join.DeepCopy()); !apierrors.IsConflict(err) {
				t.Errorf("the join stores a token whose Secret the manager deletes: %v", err)
			}
			return c.Delete(ctx, obj, opts...)
		},
	})
	got, err := Renew(t.Context(), r.host, makes, func(context.Context, string) error { return nil }, r.secret, now)
	if err != nil || !got.Renewed || !deleted {
		t.Fatalf("%+v, deleted %t: %v", got, deleted, err)
	}
	if err := r.host.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names[0]+"/uid-of-"+names[0], string(r.secret.Data[v1alpha1.SecretSuperseded])); diff != "" {
		t.Errorf("what is to be revoked: %s", diff)
	}
	// The member refuses every deletion, and the manager tries each minute. The list at the host must not grow with each
	// try.
	r.start(t, tokenFor(now.Add(-25*time.Hour), now.Add(29*24*time.Hour), names[0]), names...)
	keeps := interceptor.NewClient(r.member.(client.WithWatch), interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.DeleteOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, obj.GetName(), nil)
		},
	})
	for minute := range 3 {
		at := now.Add(time.Duration(minute) * time.Minute)
		if _, err := Renew(t.Context(), r.host, keeps, func(context.Context, string) error { return nil }, r.secret, at); !apierrors.IsForbidden(err) {
			t.Errorf("got %v", err)
		}
		if err := r.host.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fmt.Sprintf("%s/lost-%d", names[1], at.UnixNano()), string(r.secret.Data[v1alpha1.SecretSuperseded])); diff != "" {
			t.Errorf("what is to be revoked: %s", diff)
		}
	}
	// The join writes the Secret at the host first. Then the manager's write must fail, and the manager must delete
	// nothing.
	r.start(t, tokenFor(now.Add(-25*time.Hour), now.Add(29*24*time.Hour), names[0]), names...)
	stale := r.secret.DeepCopy()
	r.secret.Data[v1alpha1.SecretToken] = []byte(tokenFor(now, now.Add(time.Hour), names[1]))
	if err := r.host.Update(t.Context(), r.secret); err != nil {
		t.Fatal(err)
	}
	if _, err := Renew(t.Context(), r.host, r.member, func(context.Context, string) error { return nil }, stale, now); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, r.held(t)); diff != "" {
		t.Errorf("Secrets on the member: %s", diff)
	}
}

func TestARenewalThatKeepsFailingIsReportedForItsToken(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	hosts, collectors := permissions.TokenSecrets(permissions.HostAccount)[0], permissions.TokenSecrets(permissions.CollectorAccount)[0]
	for name, tt := range map[string]struct {
		age  time.Duration // of both tokens
		want []string
	}{
		"not in the first hour": {age: 24*time.Hour + 59*time.Minute},
		"after it":              {age: 25*time.Hour + time.Minute, want: []string{permissions.HostAccount, permissions.CollectorAccount}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &renewing{issued: now.Add(-48 * time.Hour), expires: now.Add(time.Hour)} // the member issues tokens that are already due
			r.start(t, tokenFor(now.Add(-tt.age), now.Add(30*24*time.Hour-tt.age), hosts), hosts, collectors)
			r.secret.Data[v1alpha1.SecretCollectorToken] = []byte(tokenFor(now.Add(-tt.age), now.Add(30*24*time.Hour-tt.age), collectors))
			got, err := Renew(t.Context(), r.host, r.member, func(context.Context, string) error { return nil }, r.secret, now)
			if err == nil {
				t.Fatal("no error")
			}
			var overdue []string
			for _, o := range []*Overdue{got.Overdue, got.CollectorOverdue} {
				if o != nil {
					overdue = append(overdue, o.Account)
					if !o.Since.Equal(now.Add(24*time.Hour-tt.age)) || !o.Expires.Equal(now.Add(30*24*time.Hour-tt.age)) || o.Err == nil {
						t.Errorf("%+v", o)
					}
				}
			}
			if diff := cmp.Diff(tt.want, overdue); diff != "" {
				t.Error(diff)
			}
		})
	}
}
