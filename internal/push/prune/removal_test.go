// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// An earlier version of Fairlead may have delivered the ClusterRole of the host's account. If the manager deleted that
// ClusterRole, it would lose its access to the member.
func TestWhichRecordedObjectsAreReserved(t *testing.T) {
	for entry, want := range map[v1alpha1.InventoryEntry]bool{
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "fairlead-host-core"}:                               true,
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "deliveries.federation.fairlead.dev"}:       true,
		{Kind: "Namespace", Name: v1alpha1.SystemNamespace}:                                                                 true,
		{Group: v1alpha1.Group, Kind: "Membership", Name: "self"}:                                                           true,
		{Kind: "Namespace", Name: "shop"}:                                                                                   false,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "web"}:                                              false,
		{Kind: "ConfigMap", Name: "fairlead-host"}:                                                                          false,
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "deliveries.example.com", Resource: "crds"}: false,
	} {
		if r := (&Removal{Entry: entry}); r.isReserved() != want {
			t.Errorf("%s of %s is reserved: %v", r, schema.GroupKind{Group: entry.Group, Kind: entry.Kind}, !want)
		}
	}
}
