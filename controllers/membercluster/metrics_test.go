// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// A condition that becomes Unknown has to lose its series. Otherwise one cause, such as an outage of the member, would make an alert
// fire for each condition that depends on it.
func TestTheMetricOfConditionsFollowsTheStatus(t *testing.T) {
	defer forgetMember("west")
	mc := registered(v1alpha1.CollectorHost)
	mc.Name = "west"
	for _, step := range []struct {
		says map[string]metav1.ConditionStatus
		want map[string]float64
	}{
		{map[string]metav1.ConditionStatus{"Reachable": "True", "CredentialsValid": "True", "CollectorReady": "False", "Ready": "False"},
			map[string]float64{"Reachable": 1, "CredentialsValid": 1, "CollectorReady": 0, "Ready": 0}},
		{map[string]metav1.ConditionStatus{"Reachable": "False", "CredentialsValid": "Unknown", "CollectorReady": "Unknown", "Ready": "False"},
			map[string]float64{"Reachable": 0, "Ready": 0}},
		{map[string]metav1.ConditionStatus{}, map[string]float64{}},
	} {
		mc.Status.Conditions = nil
		for kind, status := range step.says {
			mc.Status.Conditions = append(mc.Status.Conditions, metav1.Condition{Type: kind, Status: status})
		}
		recordConditions(mc)
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range families {
			if family.GetName() != conditions {
				continue
			}
			for _, m := range family.GetMetric() {
				labels := map[string]string{}
				for _, label := range m.GetLabel() {
					labels[label.GetName()] = label.GetValue()
				}
				if labels["member"] == "west" {
					got[labels["condition"]] = m.GetGauge().GetValue()
				}
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.says, diff)
		}
	}
}
