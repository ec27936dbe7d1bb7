// SPDX-License-Identifier: Apache-2.0

package author

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/overrides"
)

const kubeFedDeployment = `
apiVersion: types.kubefed.io/v1beta1
kind: FederatedDeployment
metadata: {name: web, namespace: shop}
spec:
  template:
    metadata: {labels: {app: web}}
    spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}
  placement:
    clusters: [{name: eu-1}, {name: us-1}]
    clusterSelector: {matchLabels: {env: ignored}}
  overrides:
  - clusterName: us-1
    clusterOverrides:
    - {path: /spec/replicas, value: 5}
    - {path: /metadata/annotations, op: add, value: {foo: bar}}
    - {path: /metadata/labels/app, op: remove}
`

func TestKubeFedObjectsBecomeWrappers(t *testing.T) {
	wrappers, notes := wrap(t, kubeFedDeployment+"---\n"+webMap, Options{Bundle: "all", Clusters: everywhere})
	if len(wrappers) != 2 || wrappers[1].Name != "deployment-web" || wrappers[1].Namespace != "shop" {
		t.Fatalf("%+v", wrappers)
	}
	var out strings.Builder
	if err := WriteYAML(&out, wrappers[1:]); err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(out.String(), "  placement:\n")
	const want = `    clusters:
      names:
      - eu-1
      - us-1
  overrides:
  - clusters:
      names:
      - us-1
    patch:
    - op: replace
      path: /spec/replicas
      value: 5
    - op: add
      path: /metadata/annotations
      value:
        foo: bar
    - op: remove
      path: /metadata/labels/app
    target:
      kind: Deployment
      name: web
`
	if diff := cmp.Diff(want, tail); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	found, _, err := ParseWrappers([]Source{{Name: "out.yaml", Data: []byte(out.String())}})
	if err != nil || len(found) != 1 {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	if errs := overrides.Validate(found[0].Wrapper.WrapperSpec(), "shop", found[0].Wrapper.WrapperKind()); len(errs) > 0 {
		t.Error(errs)
	}
	checkReadsBack(t, wrappers)
	if len(notes) != 0 {
		t.Errorf("notes: %v", notes)
	}
}

func TestPlacementOfKubeFedObjects(t *testing.T) {
	const object = "apiVersion: types.kubefed.io/v1beta1\nkind: FederatedConfigMap\nmetadata: {name: web, namespace: shop}\nspec:\n  template: {data: {a: b}}\n"
	for name, tc := range map[string]struct{ placement, want string }{
		"everywhere":        {"  placement: {clusterSelector: {}}\n", "    clusters:\n      selectors:\n      - {}\n"},
		"by label":          {"  placement: {clusterSelector: {matchLabels: {env: prod}}}\n", "      selectors:\n      - matchLabels:\n          env: prod\n"},
		"nowhere: the flag": {"", "    clusters: {}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			wrappers, _ := wrap(t, object+tc.placement, Options{})
			var out strings.Builder
			if err := WriteYAML(&out, wrappers); err != nil || !strings.HasSuffix(out.String(), tc.want) {
				t.Errorf("%v, want it to end in:\n%s\ngot:\n%s", err, tc.want, out.String())
			}
		})
	}
	wrappers, _ := wrap(t, "apiVersion: types.kubefed.io/v1beta1\nkind: FederatedNamespace\nmetadata: {name: shop, namespace: shop}\n"+
		"spec: {placement: {clusterSelector: {}}}\n", Options{})
	if w := wrappers[0]; w.Kind != "ClusterFederated" || w.Namespace != "" || w.Objects[0].GetName() != "shop" {
		t.Errorf("a FederatedNamespace: %+v", w)
	}
}

func TestKubeFedSettingsWithoutACounterpartAreRefused(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(kubeFedDeployment, old, with, 1) }
	for name, tc := range map[string]struct{ text, want string }{
		"replicas that members keep": {change("spec:\n", "spec:\n  retainReplicas: true\n"), "spec.retainReplicas: has no counterpart in Fairlead: remove this field, and leave spec.replicas out of the template"},
		"another field":              {change("spec:\n", "spec:\n  more: true\n"), "spec.more: has no counterpart"},
		"no template":                {change("  template:\n", "  templates:\n"), "spec.templates: has no counterpart"},
		"a kind that is not known":   {change("FederatedDeployment", "FederatedTeapot"), "spec.template.apiVersion: is missing, and hostctl does not know the API version of Teapot. Give apiVersion and kind in the template"},
		"an empty list of clusters":  {change("[{name: eu-1}, {name: us-1}]", "[]"), "spec.placement: clusters is empty, so KubeFed places the object on no cluster"},
		"names as they once were":    {change("clusters: [{name: eu-1}, {name: us-1}]", "clusterNames: [eu-1]"), "spec.placement: clusterNames belongs to an earlier KubeFed. Write it as clusters: [{name: CLUSTER}]"},
		"a path with dots":           {change("path: /spec/replicas", "path: spec.replicas"), `spec.overrides[0].clusterOverrides[0].path: "spec.replicas" is no JSON pointer`},
		"KubeFed's own":              {"apiVersion: core.kubefed.io/v1beta1\nkind: KubeFedCluster\nmetadata: {name: eu-1, namespace: kube-federation-system}\n", "kind: KubeFedCluster is KubeFed's own configuration: leave it out; `hostctl join` registers clusters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Parse([]Source{{Name: "in.yaml", Data: []byte(tc.text)}})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "in.yaml, document 1") {
				t.Errorf("want an error with %q, got: %v", tc.want, err)
			}
		})
	}
}
