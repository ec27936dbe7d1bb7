// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
)

// extensionOf returns a wrapper of a ClusterExtension with the given source.
func extensionOf(onFailure, group, source string) string {
	return fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: ClusterFederated
metadata: {name: argo}
spec:
  placement: {clusters: {names: [east]}}
  rollout: {onFailure: %s}
  objects:
  - {apiVersion: v1, kind: Namespace, metadata: {name: argo}}
  - {apiVersion: %s/v1, kind: ClusterExtension, metadata: {name: argo}, spec: {namespace: argo, source: %s}}
`, onFailure, group, source)
}

func TestARollbackThatOLMRefusesGetsAWarning(t *testing.T) {
	const group = "olm.operatorframework.io"
	refused := []string{"spec.objects[1].spec.source.catalog.upgradeConstraintPolicy of ClusterExtension argo is not SelfCertified, so OLM refuses the downgrade " +
		"after a failure (spec.rollout.onFailure is Rollback), and members keep the version that failed: " +
		"set SelfCertified if the publisher supports downgrades, or set onFailure to Pause"}
	for name, test := range map[string]struct {
		object string
		want   []string
	}{
		"no policy, which means CatalogProvided": {extensionOf("Rollback", group, "{sourceType: Catalog, catalog: {packageName: argo, version: 1.0.0}}"), refused},
		"CatalogProvided":                        {extensionOf("Rollback", group, "{sourceType: Catalog, catalog: {packageName: argo, upgradeConstraintPolicy: CatalogProvided}}"), refused},
		"a policy that is no text":               {extensionOf("Rollback", group, "{sourceType: Catalog, catalog: {packageName: argo, upgradeConstraintPolicy: 1}}"), refused},
		"SelfCertified":                          {extensionOf("Rollback", group, "{sourceType: Catalog, catalog: {packageName: argo, upgradeConstraintPolicy: SelfCertified}}"), nil},
		"Pause":                                  {extensionOf("Pause", group, "{sourceType: Catalog, catalog: {packageName: argo, version: 1.0.0}}"), nil},
		"a source without a catalog":             {extensionOf("Rollback", group, "{sourceType: OCIImage, ociImage: {ref: 'example.com/argo:1'}}"), nil},
		"a ClusterExtension of another group":    {extensionOf("Rollback", "example.com", "{sourceType: Catalog, catalog: {packageName: argo}}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := nobody.validate(t.Context(), request(t, admissionv1.Create, "ClusterFederated", test.object, ""))
			if !got.Allowed {
				t.Fatalf("refused: %+v", got.Result)
			}
			if diff := cmp.Diff(test.want, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
