// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

const collectorUser = "system:serviceaccount:" + v1alpha1.SystemNamespace + ":" + permissions.CollectorAccount

// asCollector returns a client that uses the collector's token in the Secret at the host.
func (f *fleet) asCollector(t *testing.T, name string) client.Client {
	t.Helper()
	_, secret := f.registered(t, name)
	cfg := rest.AnonymousClientConfig(f.eastConfig)
	cfg.BearerToken = string(secret.Data[v1alpha1.SecretCollectorToken])
	return clientFor(t, cfg)
}

// connected returns a connection to the member east like the one that the manager makes.
func (f *fleet) connected(t *testing.T, agent string) *member.Conn {
	t.Helper()
	mc, secret := f.registered(t, "east")
	cfg, err := member.ConfigFor(mc, secret, agent)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := member.Connect("east", cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetCollectorToken(string(secret.Data[v1alpha1.SecretCollectorToken]))
	return conn
}

// collects runs a collector on the manager's connection until the test ends.
func collects(t *testing.T, conn *member.Conn) {
	t.Helper()
	c, err := collect.New(collect.Options{ClusterName: "east", Config: conn.GetConfig(), HTTPClient: conn.CollectorHTTPClient(), Mapper: conn.GetRESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// users returns the names of the users who sent requests about Deliveries, Memberships and nodes with the User-Agent
// agent. It finds them in the member's audit log.
func users(t *testing.T, mark audit.Mark, agent string) []string {
	t.Helper()
	found, err := mark.Requests(func(r audit.Request) bool {
		return r.UserAgent == agent && slices.Contains([]string{"deliveries", "memberships", "nodes"}, r.Object.Resource)
	})
	if err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, r := range found {
		users = append(users, r.User.Username)
	}
	slices.Sort(users)
	return slices.Compact(users)
}

func (f *fleet) heard(ctx context.Context) bool {
	m := &v1alpha1.Membership{}
	return f.east.Get(ctx, types.NamespacedName{Name: v1alpha1.MembershipName}, m) == nil && !m.Status.RenewTime.IsZero()
}

func TestTheCollectorInsideTheManagerHasAnAccountOfItsOwn(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	mark := f.AuditMark(t, sandbox.MemberName(1))
	const agent = "own-account"
	collects(t, f.connected(t, agent))
	eventually(t, "the collector reports", f.heard)
	if got := users(t, mark, agent); !slices.Equal(got, []string{collectorUser}) {
		t.Errorf("the audit log names %v", got)
	}

	host := f.asHost(t, "east")
	membership := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	token := func(account string) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			return c.SubResource("token").Create(ctx, cluster.ServiceAccount(account), &authenticationv1.TokenRequest{})
		}
	}
	for name, a := range map[string]attempt{
		"the host gets tokens of the collector":           {do: token(permissions.CollectorAccount)},
		"and of no other account":                         {do: token("default"), refused: "cannot create resource"},
		"nor does it read what the collector alone reads": {do: func(ctx context.Context, c client.Client) error { return c.List(ctx, &corev1.NodeList{}) }, refused: "cannot list"},
		"nor write what the collector alone writes": {do: func(ctx context.Context, c client.Client) error {
			return c.Status().Patch(ctx, membership, client.RawPatch(types.MergePatchType, []byte(`{"status":{"collectorVersion":"v"}}`)))
		}, refused: "cannot patch"},
	} {
		t.Run(name, func(t *testing.T) { a.check(t, host) })
	}
	if again := f.mustJoin(t, f.eastConfig, join.Options{Name: "east"}); again.Changes != 0 {
		t.Errorf("a join wrote something: %+v", again)
	}

	// The manager renews and revokes the collector's token in the same way as the host's token.
	stolen := f.asCollector(t, "east")
	if err := ask(within(t), stolen); err != nil {
		t.Fatal(err)
	}
	f.renew(t)
	next := f.asCollector(t, "east")
	_, secret := f.registered(t, "east")
	if err := tokens.Revoke(within(t), f.host, f.asHost(t, "east"), secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the collector's old token is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, stolen)) })
	if err := ask(within(t), next); err != nil {
		t.Errorf("the collector's new token: %v", err)
	}
	for _, account := range []string{permissions.HostAccount, permissions.CollectorAccount} {
		if held := f.tokenSecrets(t, account); len(held) != 1 {
			t.Errorf("Secrets of %s on the member: %v", account, held)
		}
	}

	// The next join moves the collector to another place (External). Then the host has no token of the collector's account,
	// and no right to request one.
	_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east", Collector: v1alpha1.CollectorExternal})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes(reported), "kubectl create token fairlead-collector") {
		t.Errorf("the join does not say how the collector gets its token: %s", notes(reported))
	}
	if _, secret = f.registered(t, "east"); len(secret.Data[v1alpha1.SecretCollectorToken]) > 0 || len(secret.Data[v1alpha1.SecretSuperseded]) > 0 {
		t.Errorf("the host's Secret still holds a token of the collector, or one to revoke: %s", secret.Data[v1alpha1.SecretSuperseded])
	}
	eventually(t, "the token of the host's collector is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, next)) })
	eventually(t, "the host gets no tokens of the collector", func(ctx context.Context) bool {
		return apierrors.IsForbidden(token(permissions.CollectorAccount)(ctx, f.asHost(t, "east")))
	})
	elsewhere := &authenticationv1.TokenRequest{}
	if err := f.east.SubResource("token").Create(within(t), cluster.ServiceAccount(permissions.CollectorAccount), elsewhere); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(f.eastConfig)
	cfg.BearerToken = elsewhere.Status.Token
	foreign := clientFor(t, cfg)
	if err := ask(within(t), foreign); err != nil {
		t.Fatal(err)
	}
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Collector: v1alpha1.CollectorHost})
	eventually(t, "the token of the collector elsewhere is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, foreign)) })
	if err := ask(within(t), f.asCollector(t, "east")); err != nil {
		t.Errorf("the host's collector: %v", err)
	}
}

// Without the Secret at the host, only the member's Role shows that the host could create tokens of the collector's account.
func TestAJoinRevokesTheCollectorsTokensAlthoughTheSecretIsGone(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	kept := f.asCollector(t, "east")
	if err := ask(within(t), kept); err != nil {
		t.Fatal(err)
	}
	_, secret := f.registered(t, "east")
	if err := f.host.Delete(within(t), secret); err != nil {
		t.Fatal(err)
	}
	external := join.Options{Name: "east", Collector: v1alpha1.CollectorExternal}
	f.mustJoin(t, f.eastConfig, external)
	eventually(t, "the token of the host's collector is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, kept)) })

	// Here the host's Role still allows the host to create tokens of the collector's account. The host may have such a
	// token, so the next join must not keep the account.
	account := cluster.ServiceAccount(permissions.CollectorAccount)
	if err := f.east.Get(within(t), client.ObjectKeyFromObject(account), account); err != nil {
		t.Fatal(err)
	}
	if again := f.mustJoin(t, f.eastConfig, external); again.Changes != 0 {
		t.Errorf("a join wrote something: %+v", again)
	}
	role := &rbacv1.Role{}
	if err := f.east.Get(within(t), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}, role); err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].Resources, "serviceaccounts/token") {
			role.Rules[i].ResourceNames = append(role.Rules[i].ResourceNames, permissions.CollectorAccount)
		}
	}
	if err := f.east.Update(within(t), role); err != nil {
		t.Fatal(err)
	}
	f.mustJoin(t, f.eastConfig, external)
	now := cluster.ServiceAccount(permissions.CollectorAccount)
	if err := f.east.Get(within(t), client.ObjectKeyFromObject(now), now); err != nil || now.UID == account.UID {
		t.Errorf("the account of a host that could create its tokens was kept: %v", err)
	}
}

// An earlier version bound the collector's roles to the host's account, and gave the host no token of the collector's
// account.
func TestTheCollectorOfAMemberOfAnEarlierVersionUsesTheHostsToken(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	f.becomesOfTheVersionBefore(t)
	mark := f.AuditMark(t, sandbox.MemberName(1))
	const agent = "version-before"
	conn := f.connected(t, agent)
	collects(t, conn)
	eventually(t, "the collector reports", f.heard)
	if got := users(t, mark, agent); !slices.Equal(got, []string{permissions.HostUser}) {
		t.Errorf("the audit log names %v", got)
	}
	if renewal := f.renew(t); !renewal.Shared {
		t.Errorf("%+v", renewal)
	}
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	if err := ask(within(t), f.asCollector(t, "east")); err != nil {
		t.Errorf("after a join: %v", err)
	}
	if renewal := f.renew(t); renewal.Shared {
		t.Errorf("after a join: %+v", renewal)
	}
}

func (f *fleet) becomesOfTheVersionBefore(t *testing.T) {
	t.Helper()
	_, secret := f.registered(t, "east")
	delete(secret.Data, v1alpha1.SecretCollectorToken)
	if err := f.host.Update(within(t), secret); err != nil {
		t.Fatal(err)
	}
	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}} {
		if err := f.east.List(within(t), list); err != nil {
			t.Fatal(err)
		}
		for _, obj := range items(t, list) {
			if !strings.HasPrefix(obj.GetName(), permissions.CollectorAccount) {
				continue
			}
			switch b := obj.(type) {
			case *rbacv1.ClusterRoleBinding:
				b.Subjects[0].Name = permissions.HostAccount
			case *rbacv1.RoleBinding:
				b.Subjects[0].Name = permissions.HostAccount
			}
			if err := f.east.Update(within(t), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	role := &rbacv1.Role{}
	if err := f.east.Get(within(t), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}, role); err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		role.Rules[i].ResourceNames = slices.DeleteFunc(role.Rules[i].ResourceNames, func(n string) bool { return strings.HasPrefix(n, permissions.CollectorAccount) })
	}
	if err := f.east.Update(within(t), role); err != nil {
		t.Fatal(err)
	}
	if err := f.east.Delete(within(t), cluster.ServiceAccount(permissions.CollectorAccount)); err != nil {
		t.Fatal(err)
	}
	host := f.asHost(t, "east")
	eventually(t, "the host's account has the collector's rights", func(ctx context.Context) bool {
		m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
		return host.List(ctx, &corev1.NodeList{}) == nil &&
			host.Status().Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"status":{"collectorVersion":"v"}}`)), client.DryRunAll) == nil
	})
}
