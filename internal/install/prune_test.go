// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/install/manifests"
)

// The test fails if an installation applies a kind that the list prunable lacks. Objects of that kind would stay after an
// upgrade to a version without them.
func TestEveryKindOfAnInstallationIsPruned(t *testing.T) {
	values := manifests.Default()
	values.CertManager.Enabled, values.ServiceMonitor.Enabled, values.PrometheusRule.Enabled = true, true, true
	objects, err := manifests.Objects(values, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		// Objects of these kinds have the same names in every version, so none of them becomes stale.
		if slices.Contains([]string{"CustomResourceDefinition", "Namespace", "Deployment"}, obj.GetKind()) || strings.HasSuffix(obj.GetKind(), "WebhookConfiguration") {
			continue
		}
		if !slices.Contains(prunable, obj.GroupVersionKind()) {
			t.Errorf("%s is not pruned", obj.GroupVersionKind())
		}
	}
	binding := slices.IndexFunc(prunable, func(gvk schema.GroupVersionKind) bool { return gvk.Kind == "ValidatingAdmissionPolicyBinding" })
	policy := slices.IndexFunc(prunable, func(gvk schema.GroupVersionKind) bool { return gvk.Kind == "ValidatingAdmissionPolicy" })
	if binding > policy {
		t.Error("the policy goes before its binding")
	}
}
