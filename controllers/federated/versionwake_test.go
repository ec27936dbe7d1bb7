// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestACollectorWakesTheWrappersThatTakeVersionsFromItsMember(t *testing.T) {
	unpaced := latestVersion()
	unpaced.Spec.Rollout = v1alpha1.Rollout{}
	west := east()
	west.Name = "west"
	r, c := host(t, nil, unpaced, east(), west)
	r.history = testKey(t, 1)
	woken := func(name string) bool {
		mc := east()
		mc.Name = name
		got := r.takingFrom(t.Context(), mc)
		return len(got) == 1 && got[0].NamespacedName == web.NamespacedName
	}
	// One reconcile writes the placement. The next one uses that placement to find the first wave.
	reconcile := func() *v1alpha1.Federated {
		t.Helper()
		for range 2 {
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
				t.Fatal(err)
			}
		}
		w := &v1alpha1.Federated{}
		if err := c.Get(t.Context(), web.NamespacedName, w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := reconcile()
	if !woken("east") || !woken("west") || woken("north") {
		t.Errorf("east wakes it: %v, west: %v, and north, where it is not placed: %v", woken("east"), woken("west"), woken("north"))
	}
	w.Spec.Upgrade.Subscriptions[0] = v1alpha1.SubscriptionUpgrade{Name: "a", TargetCSV: "a.v1.0.0"}
	w.Generation++
	if err := c.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	w = reconcile()
	if woken("east") {
		t.Error("a wrapper with a targetCSV takes no version, and must not be woken")
	}
	w.Spec.Upgrade.Subscriptions[0] = v1alpha1.SubscriptionUpgrade{Name: "a", Approve: v1alpha1.ApproveLatest}
	w.Generation++
	if err := c.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	w = reconcile()
	if !woken("east") {
		t.Error("the wrapper takes versions again, and is not woken")
	}
	if err := c.Delete(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if woken("east") {
		t.Error("a wrapper that is gone is woken")
	}
}
