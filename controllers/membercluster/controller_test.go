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
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// loop is a Reconciler with a running fleet and a fake host. probes gets the result of each probe.
type loop struct {
	*Reconciler
	probes chan member.ProbeResult
	// recorder has the events, each as "Type Reason Note".
	recorder *events.FakeRecorder
}

func newLoop(t *testing.T, objects ...client.Object) *loop {
	t.Helper()
	clk := clocktesting.NewFakeClock(now)
	host := member.Host{UID: "host-uid"}
	fleet := member.NewFleet(host, clk)
	recorder := events.NewFakeRecorder(100)
	l := &loop{probes: make(chan member.ProbeResult, 100), recorder: recorder, Reconciler: &Reconciler{
		events: recorder,
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

func TestAMemberClusterWaitsAMinuteAtMostAfterErrors(t *testing.T) {
	limiter := loopOptions().RateLimiter
	for range 30 {
		if wait := limiter.When(ctrl.Request{}); wait > time.Minute {
			t.Fatalf("the loop tries again after %s", wait)
		}
	}
}

// registration returns the MemberCluster and the Secret that a join of the member writes on the host.
func registration(s *apiServer, uid types.UID) (*v1alpha1.MemberCluster, *corev1.Secret) {
	mc := registered(v1alpha1.CollectorHost)
	mc.Finalizers, mc.Status.UID = []string{v1alpha1.Finalizer}, uid
	mc.Spec.Endpoint, mc.Spec.CABundle, mc.Spec.CredentialsRef.Name = s.URL, s.config().CAData, "east"
	secret := &corev1.Secret{Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretEndpoint: []byte(s.URL),
		v1alpha1.SecretCA: mc.Spec.CABundle, v1alpha1.SecretToken: []byte("t")}}
	secret.Namespace, secret.Name = v1alpha1.SystemNamespace, "east"
	return mc, secret
}

// settled reconciles member east until it is connected and the first probe has ended, and returns its MemberCluster.
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

// An API server that gets both a client certificate and a token ignores the token. So with a certificate in the Secret,
// the collector would use the host's permissions instead of its own.
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
		t.Fatalf("credentials with only a certificate returned %v", got)
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
		t.Error("the collector must not use the certificate's user")
	}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
		t.Fatal(err)
	}
	if got, want := said(mc), "CredentialsValid False CredentialsMissing"; !slices.Contains(got, want) {
		t.Errorf("got %v, want %s", got, want)
	}
	message := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady).Message
	for _, words := range []string{"Secret fairlead-system/east has both tls.crt and collectorToken", "remove tls.crt and tls.key", "hostctl join east"} {
		if !strings.Contains(message, words) {
			t.Errorf("the message does not contain %q: %s", words, message)
		}
	}
}

func TestACloneInPlaceOfTheMemberIsReportedAndNotWritten(t *testing.T) {
	s := newAPIServer(t, "clone-uid")
	s.joined = true // the clone has a Membership for the same host and the same member name
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
			t.Errorf("the message does not contain %q: %s", words, message)
		}
	}
	if probe, _ := l.fleet.LastProbe("east"); probe.Usable() {
		t.Error("the manager must not push to the clone")
	}
	if len(l.collectors.running) > 0 || len(s.written()) > 0 {
		t.Errorf("the collector must not run, and the clone must get no write: %v", s.written())
	}
}
