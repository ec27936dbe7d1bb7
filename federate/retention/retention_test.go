// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestIsKept(t *testing.T) {
	claim, config := schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "ConfigMap"}
	for name, tc := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		kind   schema.GroupKind
		keep   string
		kept   bool
	}{
		"KeepData keeps a claim":                                         {v1alpha1.KeepData, claim, "", true},
		"KeepData deletes a ConfigMap":                                   {v1alpha1.KeepData, config, "", false},
		"KeepData deletes a claim with the annotation":                   {v1alpha1.KeepData, claim, "false", false},
		"KeepData keeps a ConfigMap with the annotation":                 {v1alpha1.KeepData, config, "true", true},
		"DeleteAll deletes a claim":                                      {v1alpha1.DeleteAll, claim, "", false},
		"DeleteAll keeps a claim with the annotation":                    {v1alpha1.DeleteAll, claim, "true", true},
		"KeepAll keeps a ConfigMap":                                      {v1alpha1.KeepAll, config, "", true},
		"KeepAll keeps a ConfigMap whatever its annotation":              {v1alpha1.KeepAll, config, "false", true},
		"a PersistentVolumeClaim of another API group counts as no data": {v1alpha1.KeepData, schema.GroupKind{Group: "example.com", Kind: claim.Kind}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsKept(tc.policy, tc.kind, tc.keep); got != tc.kept {
				t.Errorf("got %t, want %t", got, tc.kept)
			}
		})
	}
	if why := WhyKept("true"); !strings.Contains(why, v1alpha1.AnnotationKeep) {
		t.Errorf("the reason must name the annotation: %s", why)
	}
	if why := WhyKept(""); strings.Contains(why, v1alpha1.AnnotationKeep) {
		t.Errorf("the reason names an annotation that the object does not have: %s", why)
	}
}
