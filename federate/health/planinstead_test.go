// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/federate/health"
)

func TestAnotherInstallPlanCountsOnlyIfItCanInstallTheNextCSV(t *testing.T) {
	sub := object(t, targeted(offered("db.v1.0.0", "db.v1.1.0")))
	of := func(name, spec, phase string) unstructured.Unstructured {
		return *object(t, plan(name, spec, "{phase: "+phase+"}"))
	}
	const waits = "RequiresApproval"
	for name, c := range map[string]struct {
		plans []unstructured.Unstructured
		want  string
	}{
		"no plan":                        {},
		"a plan for others":              {plans: []unstructured.Unstructured{of("a", "{generation: 3, clusterServiceVersionNames: [cache.v1.0.0]}", waits)}},
		"a plan for the CSV before":      {plans: []unstructured.Unstructured{of("a", "{generation: 1, clusterServiceVersionNames: [db.v1.0.0]}", waits)}},
		"a plan with the CSV and others": {plans: []unstructured.Unstructured{of("a", "{generation: 3, clusterServiceVersionNames: [cache.v1.0.0, db.v1.1.0]}", waits)}, want: "a"},
		"a plan that is complete":        {plans: []unstructured.Unstructured{of("a", "{generation: 3, clusterServiceVersionNames: [db.v1.1.0]}", "Complete")}},
		"several plans, and the newest counts": {plans: []unstructured.Unstructured{of("a", "{generation: 3, clusterServiceVersionNames: [db.v1.1.0]}", waits),
			of("b", "{generation: 5, clusterServiceVersionNames: [db.v1.1.0]}", waits), of("c", "{generation: 4, clusterServiceVersionNames: [db.v1.1.0]}", waits)}, want: "b"},
		"a plan without a generation": {plans: []unstructured.Unstructured{of("a", "{clusterServiceVersionNames: [db.v1.1.0]}", waits)}, want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := health.PlanInstead(sub, c.plans); found != nil {
				got = found.GetName()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
