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

func TestTheMetricOfVersionsTellsTheDirection(t *testing.T) {
	outdated := metav1.Condition{Type: v1alpha1.ConditionMemberOutdated, Status: metav1.ConditionTrue}
	for name, tc := range map[string]struct {
		mode       v1alpha1.CollectorMode
		collector  string
		conditions []metav1.Condition
		want       float64
	}{
		"the same version":                           {v1alpha1.CollectorMember, "v1.2.0", nil, 0},
		"CRDs or a collector that are older":         {v1alpha1.CollectorMember, "v1.1.0", []metav1.Condition{outdated}, -1},
		"older CRDs, and a newer collector":          {v1alpha1.CollectorMember, "v1.3.0", []metav1.Condition{outdated}, -1},
		"a newer collector":                          {v1alpha1.CollectorMember, "v1.3.0", nil, 1},
		"a newer collector that a person runs":       {v1alpha1.CollectorExternal, "v1.3.0", nil, 1},
		"the version of a collector that has ended":  {v1alpha1.CollectorHost, "v1.3.0", nil, 0},
		"a build that has no order":                  {v1alpha1.CollectorMember, "v0.0.0-dev", nil, 0},
		"a collector that has not written a version": {v1alpha1.CollectorMember, "", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			mc := registered(tc.mode)
			defer forgetMember(mc.Name)
			mc.Status.CollectorVersion, mc.Status.Conditions = tc.collector, tc.conditions
			recordVersions(mc, "v1.2.0")
			if diff := cmp.Diff([]float64{tc.want}, measured(t, skews)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
