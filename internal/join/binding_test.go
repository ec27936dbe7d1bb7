// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

// registered reads the MemberCluster and the Secret that a join wrote at the host.
func (f *fleet) registered(t *testing.T, name string) (*v1alpha1.MemberCluster, *corev1.Secret) {
	t.Helper()
	m, err := join.FindMember(within(t), f.host, name)
	if err != nil || m == nil {
		t.Fatalf("MemberCluster %s: %v", name, err)
	}
	secret := &corev1.Secret{}
	if err := f.host.Get(within(t), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	return m, secret
}

func notes(reported []steps.Step) string {
	var b strings.Builder
	for _, s := range reported {
		b.WriteString(s.What + "\n")
	}
	return b.String()
}

func TestAJoinTakesNoConnectionFromAnEditedMemberCluster(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	good, bound := f.registered(t, "east")
	edited := good.DeepCopy()
	edited.Spec.Endpoint, edited.Spec.TLSServerName, edited.Spec.ProxyURL = "https://evil:6443", "evil", "http://evil:3128"
	edited.Spec.CredentialsRef.Name = "west"
	if err := f.host.Update(within(t), edited); err != nil {
		t.Fatal(err)
	}
	_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east"})
	if err != nil {
		t.Fatal(err)
	}
	is, secret := f.registered(t, "east")
	if diff := cmp.Diff(good.Spec, is.Spec); diff != "" {
		t.Errorf("the MemberCluster: %s", diff)
	}
	if diff := cmp.Diff(bound.Data, secret.Data); diff != "" {
		t.Errorf("the Secret: %s", diff)
	}
	for _, said := range []string{`ignores spec.endpoint of MemberCluster east ("https://evil:6443")`, `ignores spec.tlsServerName of MemberCluster east ("evil")`,
		`ignores spec.proxyURL of MemberCluster east ("http://evil:3128"): the host's credentials are bound to ""`} {
		if !strings.Contains(notes(reported), said) {
			t.Errorf("the join does not say %s:\n%s", said, notes(reported))
		}
	}
}

func TestThePasswordOfAProxyIsOnlyInTheSecret(t *testing.T) {
	f := newFleet(t)
	const proxy = "http://me:secret@127.0.0.1:1"
	_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east", ProxyURL: proxy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	for round := range 2 { // the second join gives no proxy, and has to keep the proxy of the first
		m, secret := f.registered(t, "east")
		if m.Spec.ProxyURL != "http://127.0.0.1:1" || string(secret.Data[v1alpha1.SecretProxyURL]) != proxy || string(secret.Data[v1alpha1.SecretCluster]) != "east" {
			t.Errorf("round %d: %q %q", round, m.Spec.ProxyURL, secret.Data[v1alpha1.SecretProxyURL])
		}
		if strings.Contains(notes(reported), "secret@") {
			t.Errorf("the password is told: %s", notes(reported))
		}
		if _, reported, err = f.join(t, f.eastConfig, join.Options{Name: "east"}); err != nil {
			t.Fatal(err)
		}
	}
	m := &v1alpha1.MemberCluster{}
	m.Name = "east"
	err = f.host.Patch(within(t), m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"proxyURL":"`+proxy+`"}}`)))
	if diff := errortext.Diff("proxyURL holds no user and password", err); diff != "" {
		t.Error(diff)
	}
}

func TestASecretOfTheVersionBeforeIsCompletedByAJoin(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	m, secret := f.registered(t, "east")
	want := secret.DeepCopy().Data
	delete(secret.Data, v1alpha1.SecretCluster)
	if err := f.host.Update(within(t), secret); err != nil {
		t.Fatal(err)
	}
	m.Spec.ProxyURL = "http://10.0.0.1:3128"
	if err := f.host.Update(within(t), m); err != nil {
		t.Fatal(err)
	}
	_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east"})
	if err != nil {
		t.Fatal(err)
	}
	if _, secret = f.registered(t, "east"); !cmp.Equal(want, secret.Data) {
		t.Errorf("the Secret: %s", cmp.Diff(want, secret.Data))
	}
	if !slices.ContainsFunc(reported, func(s steps.Step) bool {
		return strings.Contains(s.What, "If the MemberCluster is right, give --proxy-url")
	}) {
		t.Errorf("the join does not say that the proxy is dropped: %s", notes(reported))
	}
}

func TestAJoinRefusesTheSecretOfAnotherMember(t *testing.T) {
	f := newFleet(t)
	secret := &corev1.Secret{Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretCluster: []byte("west"), v1alpha1.SecretToken: []byte("t")}}
	secret.Namespace, secret.Name = v1alpha1.SystemNamespace, "east"
	if err := client.IgnoreAlreadyExists(f.host.Create(within(t), &corev1.Namespace{ObjectMeta: cluster.SystemNamespace().ObjectMeta})); err != nil {
		t.Fatal(err)
	}
	if err := f.host.Create(within(t), secret); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, f.host, secret) })
	_, _, err := f.join(t, f.eastConfig, join.Options{Name: "east"})
	if diff := errortext.Diff(`it holds the credentials of member "west"`, err); diff != "" {
		t.Error(diff)
	}
	if left := ours(t, f.east); len(left) > 0 {
		t.Errorf("the member was written to: %v", left)
	}
}
