// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

// tokenFor returns a token with these times, bound to the Secret boundTo; "" for none. Only the parts that the function
// Read reads are valid.
func tokenFor(issued, expires time.Time, boundTo string) string {
	secret := ""
	if boundTo != "" {
		secret = fmt.Sprintf(`"secret":{"name":%q,"uid":%q},`, boundTo, "uid-of-"+boundTo)
	}
	return jwt(fmt.Sprintf(`{"iat":%d,"exp":%d,"kubernetes.io":{%s"serviceaccount":{"uid":"account"}}}`, issued.Unix(), expires.Unix(), secret))
}

// renewing simulates the two clusters that Renew uses: a member that issues tokens, and a host with the Secret of that
// member.
type renewing struct {
	host, member client.Client
	secret       *corev1.Secret
	// issued and expires are the times in the tokens that the member issues.
	issued, expires time.Time
	// forbids is true if the member refuses to create Secrets.
	forbids bool
	// there has the member's other objects at the start of the test.
	there []client.Object
	// asked are the accounts for which tokens were requested.
	asked []string
}

func (r *renewing) start(t *testing.T, token string, held ...string) {
	t.Helper()
	r.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "east"},
		Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretToken: []byte(token)}}
	r.host = fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(r.secret).Build()
	there := slices.Clone(r.there)
	for _, name := range held {
		there = append(there, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name, UID: types.UID("uid-of-" + name)}})
	}
	serves := meta.NewDefaultRESTMapper(nil)
	serves.Add(v1alpha1.GroupVersion.WithKind("Membership"), meta.RESTScopeRoot)
	r.member = fake.NewClientBuilder().WithScheme(cluster.Scheme).WithRESTMapper(serves).WithObjects(there...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if r.forbids {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, obj.GetName(),
					errors.New(`User "system:serviceaccount:fairlead-system:fairlead-host" cannot create resource "secrets" in API group ""`))
			}
			obj.SetUID(types.UID("uid-of-" + obj.GetName()))
			return c.Create(ctx, obj, opts...)
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, sub string, account client.Object, request client.Object, _ ...client.SubResourceCreateOption) error {
			if sub != "token" {
				t.Errorf("asked for %s of %s", sub, account.GetName())
			}
			r.asked = append(r.asked, account.GetName())
			asked := request.(*authenticationv1.TokenRequest)
			boundTo := ""
			if ref := asked.Spec.BoundObjectRef; ref != nil {
				boundTo = ref.Name
			}
			asked.Status.Token = tokenFor(r.issued, r.expires, boundTo)
			return nil
		},
	}).Build()
	if err := r.host.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret); err != nil {
		t.Fatal(err)
	}
}

// held returns the names of the Secrets on the member to which tokens are bound.
func (r *renewing) held(t *testing.T) []string {
	t.Helper()
	var list corev1.SecretList
	if err := r.member.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list.Items {
		names = append(names, strings.TrimPrefix(s.Name, permissions.HostAccount+"-token-"))
	}
	slices.Sort(names)
	return names
}

func TestRenew(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	at := func(h float64) time.Time { return now.Add(time.Duration(h * float64(time.Hour))) }
	const month = 30 * 24
	slot := func(n int) string { return permissions.TokenSecrets(permissions.HostAccount)[n-1] }
	of := func(age, life float64, boundTo string) string { return tokenFor(at(-age), at(life-age), boundTo) }
	for name, tt := range map[string]struct {
		token string
		// held are the token Secrets on the member, except the Secret of the present token.
		held []string
		// life is the lifetime of the issued tokens, in hours; 0 means a month. late is the age of a token when the member
		// issues it, in hours.
		life, late float64
		forbids    bool
		refuses    bool // true if the member does not accept the new token
		raced      bool // true if another client writes the Secret at the host first
		want       string
		wantHeld   []string
		wantErr    string
		superseded string
		unbound    bool
	}{
		"a token of today stays":                         {token: of(23, month, slot(1)), want: of(23, month, slot(1)), wantHeld: []string{"1"}},
		"one of yesterday is replaced":                   {token: of(25, month, slot(1)), want: of(0, month, slot(2)), wantHeld: []string{"1", "2"}, superseded: slot(1) + "/uid-of-" + slot(1)},
		"one that was given for a year is replaced, too": {token: of(25, 365*24, ""), want: of(0, month, slot(1)), wantHeld: []string{"1"}},
		"one that has ended is tried, the clocks may differ": {token: of(2*month, month, slot(4)), want: of(0, month, slot(1)), wantHeld: []string{"1", "4"},
			superseded: slot(4) + "/uid-of-" + slot(4)},
		"one of an hour stays for a third of it": {token: of(0.3, 1, slot(1)), life: 1, want: of(0.3, 1, slot(1)), wantHeld: []string{"1"}},
		"and is replaced then":                   {token: of(0.4, 1, slot(1)), life: 1, want: of(0, 1, slot(2)), wantHeld: []string{"1", "2"}, superseded: slot(1) + "/uid-of-" + slot(1)},
		"names that others hold are left alone": {token: of(25, month, slot(1)), held: []string{slot(2), slot(3)}, want: of(0, month, slot(4)),
			wantHeld: []string{"1", "2", "3", "4"}, superseded: slot(1) + "/uid-of-" + slot(1)},
		"where all names are held, tokens were lost that nobody has": {token: of(25, month, slot(1)), held: []string{slot(2), slot(3), slot(4)},
			want: of(0, month, slot(2)), wantHeld: []string{"1", "2", "3", "4"}, superseded: slot(1) + "/uid-of-" + slot(1)},
		"one that would be due at once is not kept": {token: of(25, month, slot(1)), late: 24, want: of(25, month, slot(1)), wantHeld: []string{"1"},
			wantErr: "the member's clock says"},
		"one that does not work is not kept":                                {token: of(25, month, slot(1)), refuses: true, want: of(25, month, slot(1)), wantHeld: []string{"1"}, wantErr: "not this one"},
		"one that comes too late is revoked":                                {token: of(25, month, slot(1)), raced: true, want: "another", wantHeld: []string{"1"}, wantErr: "object was modified"},
		"a member of the version before gives one that is bound to nothing": {token: of(25, 365*24, ""), forbids: true, want: of(0, month, ""), unbound: true},
		"a token that is none of ours is left alone":                        {token: "opaque", want: "opaque"},
		"so is one that says an end that no status can hold":                {token: tokenFor(now, time.Unix(1<<60, 0), ""), want: tokenFor(now, time.Unix(1<<60, 0), "")},
	} {
		t.Run(name, func(t *testing.T) {
			life := tt.life
			if life == 0 {
				life = month
			}
			r := &renewing{issued: at(-tt.late), expires: at(life - tt.late), forbids: tt.forbids}
			held := tt.held
			if have, err := Read(tt.token); err == nil && have.secret.known() {
				held = append(held, have.secret.name)
			}
			r.start(t, tt.token, held...)
			accepts := func(ctx context.Context, token string) error {
				if tt.raced {
					other := r.secret.DeepCopy()
					other.Data[v1alpha1.SecretToken] = []byte("another")
					return r.host.Update(ctx, other)
				}
				if tt.refuses {
					return apierrors.NewUnauthorized("not this one")
				}
				if c, err := Read(token); err != nil || !c.fresh(now) {
					t.Errorf("tried %s: %v", token, err)
				}
				return nil
			}
			got, err := Renew(t.Context(), r.host, r.member, accepts, r.secret, now)
			if diff := errortext.Diff(tt.wantErr, err); diff != "" {
				t.Fatal(diff)
			}
			if renewed := tt.want != tt.token && !tt.raced; got.Renewed != renewed || got.Unbound != tt.unbound {
				t.Errorf("Renew() = %+v, want renewed %t, unbound %t", got, renewed, tt.unbound)
			}
			if err := r.host.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(r.secret.Data[v1alpha1.SecretToken])); diff != "" {
				t.Errorf("the Secret: %s", diff)
			}
			if diff := cmp.Diff(tt.superseded, string(r.secret.Data[v1alpha1.SecretSuperseded])); diff != "" {
				t.Errorf("what is to be revoked: %s", diff)
			}
			if diff := cmp.Diff(tt.wantHeld, r.held(t)); diff != "" {
				t.Errorf("Secrets on the member: %s", diff)
			}
		})
	}
}

func TestRevokeDeletesOnlyTheSecretsOfReplacedTokens(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	line := func(n int) string {
		return permissions.TokenSecrets(permissions.HostAccount)[n-1] + "/uid-of-" + permissions.TokenSecrets(permissions.HostAccount)[n-1]
	}
	current := tokenFor(now, now.Add(time.Hour), permissions.TokenSecrets(permissions.HostAccount)[1])
	for name, tt := range map[string]struct {
		token, superseded string
		want              []string
		left              bool
	}{
		"what was replaced":                      {token: current, superseded: line(1), want: []string{"2", "3", "4"}},
		"several":                                {token: current, superseded: line(1) + "\n" + line(3), want: []string{"2", "4"}},
		"never that of the token in use":         {token: current, superseded: line(2), want: []string{"1", "2", "3", "4"}},
		"nor what is no Secret for tokens":       {token: current, superseded: "default/u", want: []string{"1", "2", "3", "4"}},
		"nothing while another credential is in": {token: "opaque", superseded: line(1), want: []string{"1", "2", "3", "4"}, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &renewing{}
			r.start(t, tt.token, permissions.TokenSecrets(permissions.HostAccount)...)
			r.secret.Data[v1alpha1.SecretSuperseded] = []byte(tt.superseded)
			if err := r.host.Update(t.Context(), r.secret); err != nil {
				t.Fatal(err)
			}
			if err := Revoke(t.Context(), r.host, r.member, r.secret); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.held(t)); diff != "" {
				t.Errorf("Secrets on the member: %s", diff)
			}
			if err := r.host.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret); err != nil {
				t.Fatal(err)
			}
			if _, left := r.secret.Data[v1alpha1.SecretSuperseded]; left != tt.left {
				t.Errorf("the Secret still says what is to be revoked: %t", left)
			}
		})
	}
}

// If the member refuses to delete a token Secret, the Secret stays on the list, and the other tokens are still revoked.
func TestATokenThatCannotBeRevokedDoesNotBlockTheOthers(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	r := &renewing{}
	r.start(t, tokenFor(now, now.Add(time.Hour), "fairlead-host-token-2"), permissions.TokenSecrets(permissions.HostAccount)...)
	line := func(name string) string { return name + "/uid-of-" + name }
	r.secret.Data[v1alpha1.SecretSuperseded] = []byte(line("fairlead-host-token-1") + "\n" + line("fairlead-host-token-3"))
	if err := r.host.Update(t.Context(), r.secret); err != nil {
		t.Fatal(err)
	}
	refuses := interceptor.NewClient(r.member.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if obj.GetName() == "fairlead-host-token-1" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, obj.GetName(), nil)
			}
			return c.Delete(ctx, obj, opts...)
		},
	})
	if err := Revoke(t.Context(), r.host, refuses, r.secret); !apierrors.IsForbidden(err) {
		t.Errorf("the refusal is not told: %v", err)
	}
	if diff := cmp.Diff([]string{"1", "2", "4"}, r.held(t)); diff != "" {
		t.Errorf("Secrets on the member: %s", diff)
	}
	if err := r.host.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(line("fairlead-host-token-1"), string(r.secret.Data[v1alpha1.SecretSuperseded])); diff != "" {
		t.Errorf("left to revoke: %s", diff)
	}
}

// A collector inside the manager has a token of its own in the same Secret at the host, and token Secrets of its own on the
// member.
func TestTheCollectorsTokenIsRenewedAndRevokedAsTheHostsIs(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	aged := func(age time.Duration, boundTo string) string {
		return tokenFor(now.Add(-age), now.Add(30*24*time.Hour-age), boundTo)
	}
	hosts, collectors := permissions.TokenSecrets(permissions.HostAccount), permissions.TokenSecrets(permissions.CollectorAccount)
	line := func(name string) string { return name + "/uid-of-" + name }
	for name, tt := range map[string]struct {
		host, collector time.Duration // the ages of the two tokens; 0 means that the collector has no token
		wantAsked       []string
		superseded      string
		due             time.Time
		shared          bool
	}{
		"both of today stay": {host: time.Hour, collector: 2 * time.Hour, due: now.Add(22 * time.Hour)},
		"the collector's of yesterday is replaced": {host: time.Hour, collector: 25 * time.Hour, wantAsked: []string{permissions.CollectorAccount},
			superseded: line(collectors[0]), due: now.Add(23 * time.Hour)},
		"the host's of yesterday is replaced": {host: 25 * time.Hour, collector: time.Hour, wantAsked: []string{permissions.HostAccount},
			superseded: line(hosts[0]), due: now.Add(23 * time.Hour)},
		"both of yesterday are": {host: 25 * time.Hour, collector: 25 * time.Hour, wantAsked: []string{permissions.HostAccount, permissions.CollectorAccount},
			superseded: line(collectors[0]) + "\n" + line(hosts[0]), due: now.Add(24 * time.Hour)},
		"a Secret of the version before holds none of it": {host: 25 * time.Hour, wantAsked: []string{permissions.HostAccount}, superseded: line(hosts[0]), due: now.Add(24 * time.Hour), shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &renewing{issued: now, expires: now.Add(30 * 24 * time.Hour)}
			held := []string{hosts[0], collectors[0]}
			r.start(t, aged(tt.host, hosts[0]), held...)
			if tt.collector != 0 {
				r.secret.Data[v1alpha1.SecretCollectorToken] = []byte(aged(tt.collector, collectors[0]))
				if err := r.host.Update(t.Context(), r.secret); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Renew(t.Context(), r.host, r.member, func(context.Context, string) error { return nil }, r.secret, now)
			if err != nil {
				t.Fatal(err)
			}
			if got.Renewed != (len(tt.wantAsked) > 0) || !got.Due.Equal(tt.due) || got.Shared != tt.shared {
				t.Errorf("%+v, want due %s", got, tt.due)
			}
			if diff := cmp.Diff(tt.wantAsked, r.asked); diff != "" {
				t.Errorf("the accounts of the tokens: %s", diff)
			}
			if err := r.host.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.superseded, string(r.secret.Data[v1alpha1.SecretSuperseded])); diff != "" {
				t.Errorf("what is to be revoked: %s", diff)
			}
			if err := Revoke(t.Context(), r.host, r.member, r.secret); err != nil {
				t.Fatal(err)
			}
			left := r.held(t)
			for _, old := range strings.Fields(tt.superseded) {
				name, _, _ := strings.Cut(old, "/")
				if slices.Contains(left, strings.TrimPrefix(name, permissions.HostAccount+"-token-")) {
					t.Errorf("%s is still there, of %v", name, left)
				}
			}
			for _, key := range []string{v1alpha1.SecretToken, v1alpha1.SecretCollectorToken} {
				current, err := Read(string(r.secret.Data[key]))
				if err == nil && !slices.Contains(left, strings.TrimPrefix(current.secret.name, permissions.HostAccount+"-token-")) {
					t.Errorf("the Secret of the %s in use is gone: %v", key, left)
				}
			}
		})
	}
}

// If the collector runs elsewhere, its account has tokens that the host must not revoke.
func TestTheHostDoesNotRevokeTokensOfAnAccountThatItDoesNotUse(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	token := func(account string, n int) []byte {
		return []byte(tokenFor(now, now.Add(time.Hour), permissions.TokenSecrets(account)[n-1]))
	}
	had := map[string][]byte{v1alpha1.SecretToken: token(permissions.HostAccount, 1), v1alpha1.SecretCollectorToken: token(permissions.CollectorAccount, 1),
		v1alpha1.SecretSuperseded: []byte("fairlead-collector-token-2/u")}
	next := map[string][]byte{v1alpha1.SecretToken: token(permissions.HostAccount, 2)}
	setSuperseded(had, next)
	if diff := cmp.Diff("fairlead-host-token-1/uid-of-fairlead-host-token-1", string(next[v1alpha1.SecretSuperseded])); diff != "" {
		t.Error(diff)
	}
}

func TestWhenTheTokensOfASecretAreDue(t *testing.T) {
	issued := time.Unix(1_700_000_000, 0)
	for name, test := range map[string]struct {
		host, collector         string
		wantHost, wantCollector time.Time
	}{
		"a day after they are issued": {
			host: tokenFor(issued, issued.Add(30*24*time.Hour), "s"), wantHost: issued.Add(24 * time.Hour),
			collector: tokenFor(issued.Add(time.Hour), issued.Add(30*24*time.Hour), "s"), wantCollector: issued.Add(25 * time.Hour)},
		"after a third of a short life":               {host: tokenFor(issued, issued.Add(24*time.Hour), "s"), wantHost: issued.Add(8 * time.Hour)},
		"never, because Fairlead has not issued them": {host: "a person's token"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{Data: map[string][]byte{v1alpha1.SecretToken: []byte(test.host), v1alpha1.SecretCollectorToken: []byte(test.collector)}}
			want := map[string]time.Time{permissions.HostAccount: test.wantHost, permissions.CollectorAccount: test.wantCollector}
			if diff := cmp.Diff(want, RenewalsDue(secret)); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
		})
	}
}
