// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// While the collector cannot read a Subscription, the status keeps its versions. Otherwise the manager would conclude
// that the Subscription offers no version.
func TestTheVersionsOfASubscriptionStayWhileItCannotBeRead(t *testing.T) {
	sub := v1alpha1.InventoryEntry{Group: "operators.coreos.com", Resource: "subscriptions", Kind: "Subscription", Name: "db", State: v1alpha1.EntryApplied}
	other := v1alpha1.InventoryEntry{Resource: "configmaps", Kind: "ConfigMap", Name: "db", State: v1alpha1.EntryApplied}
	was := []v1alpha1.ObservedSubscription{{Name: "db", InstalledCSV: "db.v1.0.0", OfferedCSV: "db.v1.1.0"}, {Name: "gone", OfferedCSV: "gone.v1.0.0"}}
	d := &v1alpha1.Delivery{}
	d.Spec.Inventory, d.Status.Subscriptions = []v1alpha1.InventoryEntry{other, sub}, was
	p := &pass{delivery: d, progress: true}
	p.keep(&other)
	p.keepHealth(&sub)
	if diff := cmp.Diff(was[:1], p.status().Subscriptions); diff != "" {
		t.Error(diff)
	}
}

func TestAStatusWithoutVersionsRemovesThem(t *testing.T) {
	for name, tc := range map[string]struct {
		status v1alpha1.DeliveryStatus
		want   string
	}{
		"there are some": {v1alpha1.DeliveryStatus{ObservedRendering: "d", Subscriptions: []v1alpha1.ObservedSubscription{{Name: "db", OfferedCSV: "db.v1.1.0"}}},
			`{"answers":null,"evidence":null,"objects":null,"observedRendering":"d","subscriptions":[{"name":"db","offeredCSV":"db.v1.1.0"}],"version":null}`},
		"there are none": {v1alpha1.DeliveryStatus{ObservedRendering: "d"}, `{"answers":null,"evidence":null,"objects":null,"observedRendering":"d","subscriptions":null,"version":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := statusPatch(&v1alpha1.Delivery{}, tc.status)
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Status json.RawMessage }
			if err := json.Unmarshal(patch, &got); err != nil || string(got.Status) != tc.want {
				t.Errorf("%s, %v", got.Status, err)
			}
		})
	}
}
