// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// clusterExtension is the kind of OLM v1 whose spec names a version to install.
var clusterExtension = schema.GroupKind{Group: "olm.operatorframework.io", Kind: "ClusterExtension"}

// selfCertified is the value of upgradeConstraintPolicy with which OLM v1 also installs a version earlier than the
// installed one.
const selfCertified = "SelfCertified"

// refusedDowngrades warns of each ClusterExtension that OLM would refuse to downgrade, although onFailure: Rollback asks
// for it. The webhook accepts the wrapper, because Rollback can also undo a change of another field. refusedDowngrades
// reads the objects without the overrides, so it may warn although an override sets upgradeConstraintPolicy for some
// members.
func refusedDowngrades(spec *v1alpha1.WrapperSpec) []string {
	if spec.Rollout.OnFailure != v1alpha1.FailureRollback {
		return nil
	}
	var warnings []string
	for i, obj := range objectsOf(spec, clusterExtension) {
		catalog, fromCatalog, _ := unstructured.NestedMap(obj.Object, "spec", "source", "catalog")
		if !fromCatalog || catalog["upgradeConstraintPolicy"] == selfCertified {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("spec.objects[%d].spec.source.catalog.upgradeConstraintPolicy of ClusterExtension %s is not SelfCertified, "+
			"so OLM refuses the downgrade after a failure (spec.rollout.onFailure is Rollback), and members keep the version that failed: "+
			"set SelfCertified if the publisher supports downgrades, or set onFailure to Pause", i, obj.GetName()))
	}
	return warnings
}
