// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// The connection goes on, so no watch is lost; and the token that it began with is revoked, by the one that is in its place.
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
	got := l.settled(t) // as the watch of Secrets would have it
	l.settled(t)
	if l.fleet.Conn("east") != conn || !conn.Uses(next) {
		t.Error("the connection was replaced, or goes on with the old token")
	}
	if !conn.CollectorUses(collectors) {
		t.Error("the collector does not use its own token")
	}
	if diff := cmp.Diff([]string{"POST " + secretsPath, "POST /api/v1/namespaces/fairlead-system/serviceaccounts/fairlead-host/token",
		"DELETE " + secretsPath + "/fairlead-host-token-1"}, s.written()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{old, old, next}, s.bearers); diff != "" {
		t.Errorf("the tokens that these came with: %s", diff)
	}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil || len(secret.Data[v1alpha1.SecretSuperseded]) > 0 {
		t.Errorf("it would be revoked again: %v %s", err, secret.Data[v1alpha1.SecretSuperseded])
	}
	if expires := now.Add(time.Hour); !got.Status.CredentialsExpireTime.Time.Equal(expires) {
		t.Errorf("status.credentialsExpireTime: %s", got.Status.CredentialsExpireTime)
	}
	if diff := cmp.Diff([]float64{float64(now.Add(time.Hour).Unix())}, measured(t)); diff != "" {
		t.Errorf("the metric: %s", diff)
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
	if left := measured(t); len(left) > 0 {
		t.Errorf("a member that is gone is still measured: %v", left)
	}
}

// measured is what the metric says, of all members.
func measured(t *testing.T) []float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, family := range families {
		if family.GetName() == "fairlead_member_credentials_expire_timestamp_seconds" {
			for _, m := range family.GetMetric() {
				values = append(values, m.GetGauge().GetValue())
			}
		}
	}
	slices.Sort(values)
	return values
}
