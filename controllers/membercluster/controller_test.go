// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// loop is the Reconciler with a fleet that has started, and a host with the test's objects.
type loop struct {
	*Reconciler
	probes chan member.ProbeResult
}

func newLoop(t *testing.T, objects ...client.Object) *loop {
	t.Helper()
	clk := clocktesting.NewFakeClock(now)
	host := member.Host{UID: "host-uid"}
	fleet := member.NewFleet(host, clk)
	l := &loop{probes: make(chan member.ProbeResult, 100), Reconciler: &Reconciler{
		client: fake.NewClientBuilder().WithScheme(member.Scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.MemberCluster{}).Build(),
		fleet:  fleet, orphans: deliveries.NewOrphans(deliveries.NewStore(clk), nil, nil), collectors: NewCollectors("v", 0, clk, func(string) {}), host: host, clock: clk,
	}}
	l.fleet.OnProbe(func(_ string, _, is member.ProbeResult) { l.probes <- is })
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = l.fleet.Start(ctx, l.collectors) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return l
}

// registration returns the objects that a join writes on the host for a member.
func registration(s *apiServer, uid types.UID) (*v1alpha1.MemberCluster, *corev1.Secret) {
	mc := registered(v1alpha1.CollectorHost)
	mc.Finalizers, mc.Status.UID = []string{v1alpha1.Finalizer}, uid
	mc.Spec.Endpoint, mc.Spec.CABundle, mc.Spec.CredentialsRef.Name = s.URL, s.config().CAData, "east"
	secret := &corev1.Secret{Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretEndpoint: []byte(s.URL),
		v1alpha1.SecretCA: mc.Spec.CABundle, v1alpha1.SecretToken: []byte("t")}}
	secret.Namespace, secret.Name = v1alpha1.SystemNamespace, "east"
	return mc, secret
}

// settled returns the MemberCluster after the loop has connected the member and got the result of the first probe.
func (l *loop) settled(t *testing.T) *v1alpha1.MemberCluster {
	t.Helper()
	east := ctrl.Request{NamespacedName: types.NamespacedName{Name: "east"}}
	for range 2 {
		if _, err := l.Reconcile(t.Context(), east); err != nil {
			t.Fatal(err)
		}
		if len(l.probes) == 0 {
			l.probes <- receive(t, l.probes)
		}
	}
	mc := &v1alpha1.MemberCluster{}
	if err := l.client.Get(t.Context(), east.NamespacedName, mc); err != nil {
		t.Fatal(err)
	}
	return mc
}

func TestTheUIDOfTheJoinedClusterIsStoredOnce(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.joined = true
	mc, secret := registration(s, "")
	got := newLoop(t, mc, secret).settled(t)
	if diff := cmp.Diff("member-uid", string(got.Status.UID)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Reachable True Answers", "CredentialsValid True Answers", "CollectorReady True Collecting", "Ready True Ready"},
		said(got)); diff != "" {
		t.Error(diff)
	}
}

// An API server checks a client certificate before it checks a token.
func TestACertificateNextToTheCollectorsTokenIsRefusedByName(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.joined = true
	mc, secret := registration(s, "member-uid")
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	secret.Data[v1alpha1.SecretCert] = s.config().CAData
	secret.Data[v1alpha1.SecretKey] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	l := newLoop(t, mc, secret)
	if got, want := said(l.settled(t)), "CredentialsValid True Answers"; !slices.Contains(got, want) {
		t.Fatalf("a certificate alone: %v", got)
	}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[v1alpha1.SecretCollectorToken] = []byte("c")
	if err := l.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "east"}}); err != nil {
		t.Fatal(err)
	}
	if l.fleet.Conn("east") != nil {
		t.Error("the collector would act as the certificate's user")
	}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
		t.Fatal(err)
	}
	if got, want := said(mc), "CredentialsValid False CredentialsMissing"; !slices.Contains(got, want) {
		t.Errorf("got %v, want %s", got, want)
	}
	message := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady).Message
	for _, words := range []string{"Secret fairlead-system/east holds tls.crt and collectorToken", "remove tls.crt and tls.key", "hostctl join east"} {
		if !strings.Contains(message, words) {
			t.Errorf("the message does not say %q: %s", words, message)
		}
	}
}

func TestACloneInPlaceOfTheMemberIsReportedAndNotWritten(t *testing.T) {
	s := newAPIServer(t, "clone-uid")
	s.joined = true // by the same host, under the same name
	mc, secret := registration(s, "member-uid")
	l := newLoop(t, mc, secret)
	got := l.settled(t)
	if diff := cmp.Diff("member-uid", string(got.Status.UID)); diff != "" {
		t.Errorf("status.uid: %s", diff)
	}
	if diff := cmp.Diff([]string{"Reachable True Answers", "CredentialsValid False IdentityChanged", "CollectorReady Unknown IdentityChanged",
		"Ready False IdentityChanged"}, said(got)); diff != "" {
		t.Error(diff)
	}
	message := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionReady).Message
	for _, words := range []string{"clone-uid", "member-uid", "hostctl unjoin east --forget"} {
		if !strings.Contains(message, words) {
			t.Errorf("the message does not say %q: %s", words, message)
		}
	}
	if probe, _ := l.fleet.LastProbe("east"); probe.Usable() {
		t.Error("pushes to the clone would begin")
	}
	if len(l.collectors.running) > 0 || len(s.written()) > 0 {
		t.Errorf("the collector runs, or the clone was written to: %v", s.written())
	}
}
