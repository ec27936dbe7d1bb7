// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
)

// ask reads the Membership of the member.
func ask(ctx context.Context, c client.Client) error {
	return c.Get(ctx, types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{})
}

// renew renews the tokens of east at the time when they are due, as the manager does.
func (f *fleet) renew(t *testing.T) tokens.Renewal {
	t.Helper()
	_, secret := f.registered(t, "east")
	account := f.asHost(t, "east")
	accepts := func(ctx context.Context, token string) error {
		cfg := rest.AnonymousClientConfig(f.eastConfig)
		cfg.BearerToken = token
		return ask(ctx, clientFor(t, cfg))
	}
	renewal, err := tokens.Renew(within(t), f.host, account, accepts, secret, time.Now())
	if err != nil || renewal.Renewed {
		t.Fatalf("the token is new, and yet: %+v %v", renewal, err)
	}
	first := secret
	isNew := func(key string) bool { return !bytes.Equal(first.Data[key], secret.Data[key]) }
	due := renewal.Due
	eventually(t, "the member gives tokens that are younger by a second", func(ctx context.Context) bool {
		// The join got the two tokens one after the other, so one call of Renew may renew only one of them, and the other is due a
		// second later. So the test reads the Secret again before each call, as the manager does.
		_, secret = f.registered(t, "east")
		if renewal, err = tokens.Renew(ctx, f.host, account, accepts, secret, due); err != nil {
			return false
		}
		if renewal.Renewed {
			due = renewal.Due
		}
		_, secret = f.registered(t, "east")
		return isNew(v1alpha1.SecretToken) && (isNew(v1alpha1.SecretCollectorToken) || renewal.Shared)
	})
	return renewal
}

// tokenSecrets returns the names of the Secrets on the member to which tokens of an account are bound.
func (f *fleet) tokenSecrets(t *testing.T, account string) []string {
	t.Helper()
	var list corev1.SecretList
	if err := f.east.List(within(t), &list, client.InNamespace(v1alpha1.SystemNamespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list.Items {
		if strings.HasPrefix(s.Name, account) {
			names = append(names, s.Name)
		}
	}
	return names
}

func TestATokenIsRevokedOnceItsSuccessorHasWorked(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	stolen := f.asHost(t, "east")
	if renewal := f.renew(t); renewal.Unbound || time.Until(renewal.Expires) > 31*24*time.Hour {
		t.Errorf("%+v", renewal)
	}
	next := f.asHost(t, "east")
	if err := ask(within(t), stolen); err != nil {
		t.Errorf("the old token is refused before the new one has worked: %v", err)
	}
	_, secret := f.registered(t, "east")
	if err := tokens.Revoke(within(t), f.host, next, secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old token is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, stolen)) })
	if err := ask(within(t), next); err != nil {
		t.Errorf("the new token: %v", err)
	}
	held := f.tokenSecrets(t, permissions.HostAccount)
	if len(held) != 1 {
		t.Fatalf("Secrets on the member: %v", held)
	}
	// Revoke must not delete a newer Secret under the name of a revoked one.
	_, secret = f.registered(t, "east")
	secret.Data[v1alpha1.SecretSuperseded] = []byte(held[0] + "/another-uid")
	if err := f.host.Update(within(t), secret); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Revoke(within(t), f.host, next, secret); err != nil || len(f.tokenSecrets(t, permissions.HostAccount)) != 1 {
		t.Errorf("%v; Secrets on the member: %v", err, f.tokenSecrets(t, permissions.HostAccount))
	}
	if again := f.mustJoin(t, f.eastConfig, join.Options{Name: "east"}); again.Changes != 0 {
		t.Errorf("a join wrote something: %+v", again)
	}
}

// On a member that an earlier version joined, the host has no right to create token Secrets. So its tokens are bound to
// none until a user joins the member again.
func TestAMemberOfAnEarlierVersionIsServedAndUpgradedByAJoin(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	role := &rbacv1.Role{}
	if err := f.east.Get(within(t), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}, role); err != nil {
		t.Fatal(err)
	}
	var before []rbacv1.PolicyRule
	for _, rule := range role.Rules {
		if rule.Resources[0] != "secrets" {
			before = append(before, rule)
		}
	}
	role.Rules = before
	if err := f.east.Update(within(t), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host may make no Secret there", func(ctx context.Context) bool {
		none := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount + "-token-4"}}
		return apierrors.IsForbidden(f.asHost(t, "east").Create(ctx, none, client.DryRunAll))
	})
	if renewal := f.renew(t); !renewal.Unbound {
		t.Errorf("%+v", renewal)
	}
	if err := ask(within(t), f.asHost(t, "east")); err != nil {
		t.Errorf("the token that is bound to nothing: %v", err)
	}
	_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes(reported), "To revoke it immediately, run `hostctl join east --cluster-kubeconfig FILE --rotate`") {
		t.Errorf("the join does not say that the token before cannot be revoked: %s", notes(reported))
	}
	if renewal := f.renew(t); renewal.Unbound {
		t.Errorf("after a join: %+v", renewal)
	}
}

func TestRotateRevokesEveryEarlierToken(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	stolen := f.asHost(t, "east")
	f.renew(t)
	later := f.asHost(t, "east")
	delivery := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "fed.shop.web"}}
	delivery.Spec.Wrapper = v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "u-1", Generation: 1}
	if err := f.east.Create(within(t), delivery); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.join(t, f.eastConfig, join.Options{Name: "east", Rotate: true, DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if err := ask(within(t), later); err != nil {
		t.Errorf("after a dry run: %v", err)
	}
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Rotate: true}.Remembering(time.Millisecond))
	for name, c := range map[string]client.Client{"the first": stolen, "the second": later} {
		eventually(t, name+" token is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, c)) })
	}
	if err := ask(within(t), f.asHost(t, "east")); err != nil {
		t.Errorf("the new token: %v", err)
	}
	if err := f.east.Get(within(t), client.ObjectKeyFromObject(delivery), delivery); err != nil {
		t.Errorf("what was delivered: %v", err)
	}
}
