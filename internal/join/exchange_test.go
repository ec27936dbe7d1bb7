// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

// beforeSecretIsStored returns a connection to the host that calls do once, right before the first write of a Secret.
func beforeSecretIsStored(cfg *rest.Config, do func()) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	ran := false
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodGet && strings.Contains(req.URL.Path, "/secrets") && !ran {
				ran = true
				do()
			}
			return next.RoundTrip(req)
		})
	})
	return cfg
}

// joinMeanwhile joins east, and runs do right before the join stores the tokens.
func (f *fleet) joinMeanwhile(t *testing.T, do func()) []steps.Step {
	t.Helper()
	ran := false
	during := *f
	during.hostConfig = beforeSecretIsStored(f.hostConfig, func() { ran = true; do() })
	_, reported, err := during.join(t, f.eastConfig, join.Options{Name: "east"})
	if err != nil {
		t.Fatal(err)
	}
	if !ran {
		t.Fatal("the join wrote no Secret")
	}
	return reported
}

// expectAccounted fails the test if a token at the host does not work. It also fails if the member has a token Secret that
// the host neither uses nor has on its list of tokens to revoke.
func (f *fleet) expectAccounted(t *testing.T) {
	t.Helper()
	_, secret := f.registered(t, "east")
	want := strings.Fields(string(secret.Data[v1alpha1.SecretSuperseded]))
	for i, line := range want {
		want[i], _, _ = strings.Cut(line, "/")
	}
	for _, account := range []string{permissions.HostAccount, permissions.CollectorAccount} {
		for _, held := range f.tokenSecrets(t, account) {
			if !slices.Contains(want, held) && !f.inUse(t, held) {
				t.Errorf("Secret %s on the member is bound to a token that the host knows nothing of; to be revoked: %v", held, want)
			}
		}
	}
	// An API server may accept a revoked token for up to ten seconds, so a request would not show that a token is revoked.
	// The test looks for the token Secret instead.
	for key, account := range map[string]string{v1alpha1.SecretToken: permissions.HostAccount, v1alpha1.SecretCollectorToken: permissions.CollectorAccount} {
		if boundTo := join.BoundTo(t, string(secret.Data[key])); !slices.Contains(f.tokenSecrets(t, account), boundTo) {
			t.Errorf("%s at the host is revoked: it is bound to %s", key, boundTo)
		}
	}
	if err := ask(within(t), f.asHost(t, "east")); err != nil {
		t.Errorf("the host's token: %v", err)
	}
	if err := ask(within(t), f.asCollector(t, "east")); err != nil {
		t.Errorf("the collector's token: %v", err)
	}
}

// inUse reports whether a token at the host is bound to the token Secret of this name on the member.
func (f *fleet) inUse(t *testing.T, name string) bool {
	t.Helper()
	_, secret := f.registered(t, "east")
	return slices.ContainsFunc([]string{v1alpha1.SecretToken, v1alpha1.SecretCollectorToken}, func(key string) bool {
		return join.BoundTo(t, string(secret.Data[key])) == name
	})
}

// unboundCluster removes the name of the member from the Secret at the host. An earlier version wrote Secrets without
// this name, so the next join has to write the name.
func (f *fleet) unboundCluster(t *testing.T) {
	t.Helper()
	_, secret := f.registered(t, "east")
	delete(secret.Data, v1alpha1.SecretCluster)
	if err := f.host.Update(within(t), secret); err != nil {
		t.Fatal(err)
	}
}

func TestAJoinNeverStoresATokenThatARenewalHasReplaced(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	f.unboundCluster(t)
	var renewed []byte
	reported := f.joinMeanwhile(t, func() {
		f.renew(t)
		_, secret := f.registered(t, "east")
		renewed = secret.Data[v1alpha1.SecretToken]
		if err := tokens.Revoke(within(t), f.host, f.asHost(t, "east"), secret); err != nil {
			t.Fatal(err)
		}
	})
	_, secret := f.registered(t, "east")
	if string(secret.Data[v1alpha1.SecretToken]) != string(renewed) {
		t.Error("the join replaced the token of the renewal")
	}
	if string(secret.Data[v1alpha1.SecretCluster]) != "east" {
		t.Error("the join did not store the binding")
	}
	if !strings.Contains(notes(reported), "the manager or another join wrote Secret east at the host meanwhile") {
		t.Errorf("the join does not tell that it chose again: %s", notes(reported))
	}
	f.expectAccounted(t)
}

// before returns a connection that calls do once, right before the nth request for which the function `is` returns true.
func before(cfg *rest.Config, n int, is func(*http.Request) bool, do func()) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if is(req) {
				if n--; n == 0 {
					do()
				}
			}
			return next.RoundTrip(req)
		})
	})
	return cfg
}

func TestAJoinDuringAnUnjoinLeavesNoMemberWithoutAccess(t *testing.T) {
	for name, when := range map[string]func(*http.Request) bool{
		"before the Secret is stored": func(req *http.Request) bool {
			return req.Method != http.MethodGet && strings.Contains(req.URL.Path, "/secrets")
		},
		"before the MemberCluster is written": func(req *http.Request) bool {
			return req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/memberclusters/east")
		},
		"when all is written": nil,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
			f.unboundCluster(t)
			ran := false
			unjoin := func() { ran = true; f.leave(t, f.eastConfig, "east") }
			during, n := *f, 1
			if when == nil { // a join reads the Secret four times: in discoverHost, for the collector's account, for the tokens, and in confirm
				n, when = 4, func(req *http.Request) bool {
					return req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/secrets/east")
				}
			}
			during.hostConfig = before(f.hostConfig, n, when, unjoin)
			_, _, err := during.join(t, f.eastConfig, join.Options{Name: "east", Labels: map[string]string{"a": "b"}})
			if diff := errortext.Diff("join again", err); diff != "" || !ran {
				t.Errorf("the unjoin ran: %t; %s", ran, diff)
			}
			m, err := join.FindMember(within(t), f.host, "east")
			if err != nil || m != nil {
				t.Errorf("the host has a member without credentials: %v %v", m, err)
			}
			f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
			f.expectAccounted(t)
			f.leave(t, f.eastConfig, "east")
		})
	}
}

func TestTwoJoinsAtATimeLeaveTheHostWithOneTokenOfEachAccount(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	_, secret := f.registered(t, "east")
	if err := f.host.Delete(within(t), secret); err != nil {
		t.Fatal(err)
	}
	var winner []byte
	f.joinMeanwhile(t, func() {
		f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
		_, secret := f.registered(t, "east")
		winner = secret.Data[v1alpha1.SecretToken]
	})
	_, secret = f.registered(t, "east")
	if string(secret.Data[v1alpha1.SecretToken]) != string(winner) {
		t.Error("the join that came later replaced a token that is new")
	}
	f.expectAccounted(t)
	if err := tokens.Revoke(within(t), f.host, f.asHost(t, "east"), secret); err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{permissions.HostAccount, permissions.CollectorAccount} {
		if held := f.tokenSecrets(t, account); len(held) != 1 {
			t.Errorf("Secrets of %s on the member: %v", account, held)
		}
	}
}

// The token Secret on the member is a remnant: a join or a manager created it, and was killed before it stored the token.
func TestAJoinRevokesTokensThatTheHostDoesNotHold(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	account := cluster.ServiceAccount(permissions.HostAccount)
	account.UID = f.account(t)
	held := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount + "-token-3",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID}}}}
	if err := f.east.Create(within(t), held); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: held.Name, UID: held.UID}}}
	if err := f.east.SubResource("token").Create(within(t), account, request); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(f.eastConfig)
	cfg.BearerToken = request.Status.Token
	lost := clientFor(t, cfg)
	if err := ask(within(t), lost); err != nil {
		t.Fatal(err)
	}
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	f.expectAccounted(t)
	_, secret := f.registered(t, "east")
	if err := tokens.Revoke(within(t), f.host, f.asHost(t, "east"), secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lost token is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, lost)) })
	f.expectAccounted(t)
	if again := f.mustJoin(t, f.eastConfig, join.Options{Name: "east"}); again.Changes != 0 {
		t.Errorf("a join wrote something: %+v", again)
	}
}

func TestAJoinThatIsStoppedRevokesTheTokensThatItIssued(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	_, secret := f.registered(t, "east")
	if err := f.host.Delete(within(t), secret); err != nil {
		t.Fatal(err)
	}
	before := f.tokenSecrets(t, permissions.HostAccount)
	ctx, stop := context.WithTimeout(within(t), time.Minute)
	defer stop()
	refusing := rest.CopyConfig(f.hostConfig)
	refusing.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPost && strings.Contains(req.URL.Path, "/secrets") {
				req.URL.Path += "/no/such/path" // the API server refuses this path, and stores nothing
			}
			return next.RoundTrip(req)
		})
	})
	if _, err := join.Join(ctx, refusing, f.eastConfig, join.Options{Name: "east", DefaultHostName: "prod"}, nil); err == nil {
		t.Fatal("the host refused the Secret, and the join says nothing")
	}
	if after := f.tokenSecrets(t, permissions.HostAccount); !slices.Equal(before, after) {
		t.Errorf("Secrets on the member: %v, before the join %v", after, before)
	}
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	f.expectAccounted(t)
}

// Each of the two joins writes the policy on the member, and then the MemberCluster. If the policy comes from one join and
// the MemberCluster from the other, one of the joins must report that.
func TestOfTwoJoinsWithDifferentCollectorsOneFails(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	during := *f
	during.hostConfig = before(f.hostConfig, 2, func(req *http.Request) bool {
		return req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/memberclusters/east")
	}, func() { f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Collector: v1alpha1.CollectorExternal}) })
	_, _, err := during.join(t, f.eastConfig, join.Options{Name: "east", Collector: v1alpha1.CollectorHost})
	if err == nil || !strings.Contains(err.Error(), "with other settings ran at the same time") {
		t.Errorf("got %v", err)
	}
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Collector: v1alpha1.CollectorHost})
	f.expectAccounted(t)
}

// All names of token Secrets are in use, and the host has none of the tokens. So the join has to delete one of the token
// Secrets. Before the deletion it writes the Secret at the host. A renewal that runs at the same time then cannot store
// the token of the deleted token Secret.
func TestAJoinThatMakesRoomStopsARenewalUnderWay(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	_, stale := f.registered(t, "east") // as a renewal has read it
	account := cluster.ServiceAccount(permissions.HostAccount)
	if err := f.east.Get(within(t), client.ObjectKeyFromObject(account), account); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 4; n++ {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: fmt.Sprintf("%s-token-%d", account.Name, n)}}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID}}
		if err := f.east.Create(within(t), s); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	setToken(t, f.host, client.ObjectKeyFromObject(stale), "") // so that the join requests a new token
	_, stale = f.registered(t, "east")
	isTried := false
	during := before(f.eastConfig, 1, func(req *http.Request) bool {
		return req.Method == http.MethodDelete && strings.Contains(req.URL.Path, "/secrets/")
	}, func() {
		isTried = true
		if err := f.host.Update(within(t), stale); !apierrors.IsConflict(err) {
			t.Errorf("the renewal stores a token whose Secret the join deletes: %v", err)
		}
	})
	if _, _, err := f.join(t, during, join.Options{Name: "east"}); err != nil || !isTried {
		t.Fatalf("the join made room: %t, %v", isTried, err)
	}
	f.expectAccounted(t)
}
