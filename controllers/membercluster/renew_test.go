// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// The manager replaces the token on the connection, so that no watch ends. After the first use of the new token it
// revokes the old one.
func TestATokenIsReplacedOnTheSameConnectionAndThenRevoked(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	old, next := tokenBoundTo(now.Add(-time.Hour/2), "fairlead-host-token-1", "u-1"), tokenBoundTo(now, "fairlead-host-token-2", "made")
	s.joined, s.date, s.token = true, now, next
	mc, secret := registration(s, "member-uid")
	secret.Data[v1alpha1.SecretToken] = []byte(old)
	collectors := tokenBoundTo(now, "fairlead-collector-token-1", "c-1")
	secret.Data[v1alpha1.SecretCollectorToken] = []byte(collectors)
	l := newLoop(t, mc, secret)
	l.settled(t)
	conn := l.fleet.Conn("east")
	got := l.settled(t) // in the manager, the change of the Secret starts this reconcile
	l.settled(t)
	if l.fleet.Conn("east") != conn || !conn.Uses(next) {
		t.Error("the connection was replaced, or uses the old token")
	}
	if !conn.CollectorUses(collectors) {
		t.Error("the collector does not use its own token")
	}
	if diff := cmp.Diff([]string{"POST " + secretsPath, "POST /api/v1/namespaces/fairlead-system/serviceaccounts/fairlead-host/token",
		"DELETE " + secretsPath + "/fairlead-host-token-1"}, s.written()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{old, old, next}, s.bearers); diff != "" {
		t.Errorf("the requests used other tokens than expected: %s", diff)
	}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil || len(secret.Data[v1alpha1.SecretSuperseded]) > 0 {
		t.Errorf("after the revocation the Secret must not name the old token: %v %s", err, secret.Data[v1alpha1.SecretSuperseded])
	}
	if expires := now.Add(time.Hour); !got.Status.CredentialsExpireTime.Time.Equal(expires) {
		t.Errorf("status.credentialsExpireTime: %s", got.Status.CredentialsExpireTime)
	}
	if diff := cmp.Diff([]float64{float64(now.Add(time.Hour).Unix())}, measured(t, hostsExpiry)); diff != "" {
		t.Errorf("the metric of token expiry differs: %s", diff)
	}
	if due := measured(t, renewalsDue); len(due) != 2 || slices.Min(due) <= float64(now.Unix()) {
		t.Errorf("the tokens of both accounts are renewed, and are due at %v", due)
	}
	if diff := cmp.Diff([]float64{1, 1, 1, 1}, measured(t, conditions)); diff != "" {
		t.Errorf("the metric of conditions differs: %s", diff)
	}
	if diff := cmp.Diff([]float64{0}, measured(t, skews)); diff != "" {
		t.Errorf("the metric of versions differs: %s", diff)
	}
	got.Finalizers = nil
	if err := l.client.Update(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if err := l.client.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "east"}}); err != nil {
		t.Fatal(err)
	}
	if left := slices.Concat(measured(t, hostsExpiry), measured(t, collectorsExpiry), measured(t, renewalsDue), measured(t, conditions), measured(t, skews)); len(left) > 0 {
		t.Errorf("the metrics still have a deleted member: %v", left)
	}
}

// The manager can renew the host's token but not the collector's. The status must say so before the collector's token
// expires.
func TestTheStatusNamesTheTokenThatIsNotRenewed(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.joined, s.date, s.keeps = true, now, permissions.CollectorAccount
	mc, secret := registration(s, "member-uid")
	secret.Data[v1alpha1.SecretToken] = []byte(tokenBoundTo(now, "fairlead-host-token-1", "u-1"))
	secret.Data[v1alpha1.SecretCollectorToken] = []byte(tokenBoundTo(now.Add(-50*time.Minute), "fairlead-collector-token-1", "c-1"))
	l := newLoop(t, mc, secret)
	l.settled(t)
	got := l.settled(t)
	said := func(kind string) string {
		c := meta.FindStatusCondition(got.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue {
			t.Fatalf("%s: %+v", kind, c)
		}
		return c.Message
	}
	for kind, words := range map[string][]string{
		v1alpha1.ConditionReady: {"the manager has not been able to renew the token of fairlead-collector, which ends on " + now.Add(10*time.Minute).Format(time.DateOnly), "see condition CollectorReady"},
		v1alpha1.ConditionCollectorReady: {"account fairlead-system/fairlead-collector since " + now.Add(-30*time.Minute).Format(time.RFC3339),
			"ends on " + now.Add(10*time.Minute).Format(time.RFC3339), "hostctl join east --cluster-kubeconfig FILE", "no rule allows it"},
	} {
		for _, w := range words {
			if !strings.Contains(said(kind), w) {
				t.Errorf("the message of condition %s lacks %q: %s", kind, w, said(kind))
			}
		}
	}
	if strings.Contains(said(v1alpha1.ConditionCredentialsValid), "renew") {
		t.Errorf("the message blames the host's token too: %s", said(v1alpha1.ConditionCredentialsValid))
	}
	if diff := cmp.Diff([]float64{float64(now.Add(10 * time.Minute).Unix())}, measured(t, collectorsExpiry)); diff != "" {
		t.Errorf("the metric of token expiry differs: %s", diff)
	}
	forgetMember("east")
}

const (
	hostsExpiry      = "fairlead_member_credentials_expire_timestamp_seconds"
	renewalsDue      = "fairlead_member_token_renewal_due_timestamp_seconds"
	collectorsExpiry = "fairlead_member_collector_token_expire_timestamp_seconds"
	conditions       = "fairlead_member_condition"
	skews            = "fairlead_member_version_skew"
)

// measured returns the values that a metric has, one for each member.
func measured(t *testing.T, metric string) []float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, family := range families {
		if family.GetName() == metric {
			for _, m := range family.GetMetric() {
				values = append(values, m.GetGauge().GetValue())
			}
		}
	}
	slices.Sort(values)
	return values
}
