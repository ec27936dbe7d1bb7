// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
)

// operator wraps a Subscription with these fields of its spec, and a target.
func operator(fields, target string) string {
	return fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: db, namespace: shop}
spec:
  placement: {clusters: {names: [east]}}
  objects:
  - {apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: db}}
  - {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {%s}}
  upgrade: {subscriptions: [{name: db, targetCSV: %s}]}
`, fields, target)
}

func TestValidateChecksTheTargetsOfAnUpgrade(t *testing.T) {
	const manual = "installPlanApproval: Manual"
	for name, test := range map[string]struct {
		object  string
		refused string // words of the refusal; "" means accepted
		warning string
	}{
		"a target":                              {operator(manual, "db.v1.2.0"), "", ""},
		"a target without a v":                  {operator(manual, "db.1.2.0"), "", ""},
		"a startingCSV before the target":       {operator(manual+", startingCSV: db.v1.0.0", "db.v1.2.0"), "", ""},
		"the target as startingCSV":             {operator(manual+", startingCSV: db.v1.2.0", "db.v1.2.0"), "", ""},
		"a startingCSV without an order":        {operator(manual+", startingCSV: other.v9.0.0", "db.v1.2.0"), "", ""},
		"a startingCSV that is a number":        {operator(manual+", startingCSV: 9", "db.v1.2.0"), "", ""},
		"a startingCSV beyond the target":       {operator(manual+", startingCSV: db.v1.10.0", "db.v1.2.0"), "spec.objects[1].spec.startingCSV: Invalid value: \"db.v1.10.0\": it is a later version than targetCSV, db.v1.2.0", ""},
		"Automatic approval":                    {operator("installPlanApproval: Automatic", "db.v1.2.0"), "spec.objects[1].spec.installPlanApproval", ""},
		"a target without a version":            {operator(manual, "db-stable"), "", "spec.upgrade.subscriptions[0].targetCSV: db-stable does not end in a version such as v1.2.3, so the manager approves the InstallPlan for this CSV only, and none for a version before it"},
		"an annotation with a target of anyone": {strings.Replace(operator(manual, "db.v1.2.0"), "Subscription, metadata: {name: db", "Subscription, metadata: {annotations: {federation.fairlead.dev/target-csv: db.v9.0.0}, name: db", 1), "annotations[federation.fairlead.dev/target-csv]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := nobody.validate(t.Context(), request(t, admissionv1.Create, "Federated", test.object, ""))
			if got.Allowed != (test.refused == "") {
				t.Fatalf("allowed: %v (%+v)", got.Allowed, got.Result)
			}
			if !got.Allowed && !strings.Contains(got.Result.Message, test.refused) {
				t.Errorf("it says %s", got.Result.Message)
			}
			var want []string
			if test.warning != "" {
				want = []string{test.warning}
			}
			if diff := cmp.Diff(want, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
