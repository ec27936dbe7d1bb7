// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func spec(t testing.TB, text string) *v1alpha1.WrapperSpec {
	t.Helper()
	var s v1alpha1.WrapperSpec
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("the test's spec: %v", err)
	}
	return &s
}

// placed is a placement in YAML. The tests add it to each spec, which would not be valid without a placement.
const placed = "placement: {clusters: {selectors: [{}]}}\n"

func TestValidateObjects(t *testing.T) {
	const fed, cfed = v1alpha1.KindFederated, v1alpha1.KindClusterFederated
	for name, tc := range map[string]struct {
		kind   v1alpha1.WrapperKind // "" means a Federated in namespace shop
		object string
		want   []string // "PATH: PART OF THE MESSAGE" for each error; none if the spec is valid
	}{
		"a ConfigMap":                         {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}"},
		"the wrapper's own namespace":         {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}"},
		"a StorageClass in a cfed":            {kind: cfed, object: "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: p}"},
		"keep and replace":                    {object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {federation.fairlead.dev/keep: "false", federation.fairlead.dev/replace: "true"}}}`},
		"a custom kind that ends in List":     {object: "{apiVersion: example.com/v1, kind: AllowList, metadata: {name: a}, spec: {}}"},
		"null where only the member writes":   {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: null}, status: null}"},
		"a name with a colon, as RBAC has":    {object: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: 'a:b'}}"},
		"another namespace":                   {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}", want: []string{`spec.objects[0].metadata.namespace: Invalid value: "other": Fairlead pushes the objects of a Federated into the Federated's own namespace, "shop"`}},
		"a namespace in a cfed":               {kind: cfed, object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}", want: []string{"spec.objects[0].metadata.namespace: Forbidden: a ClusterFederated holds only cluster-scoped objects"}},
		"a namespace that is a number":        {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: 1}}", want: []string{"spec.objects[0].metadata.namespace: Invalid value: it has to be a string"}},
		"no apiVersion":                       {object: "{kind: ConfigMap, metadata: {name: a}}", want: []string{"spec.objects[0].apiVersion: Required value"}},
		"an apiVersion with two slashes":      {object: "{apiVersion: a/b/c, kind: ConfigMap, metadata: {name: a}}", want: []string{"spec.objects[0].apiVersion: Invalid value"}},
		"no kind":                             {object: "{apiVersion: v1, metadata: {name: a}}", want: []string{"spec.objects[0].kind: Required value"}},
		"no metadata":                         {object: "{apiVersion: v1, kind: ConfigMap}", want: []string{"spec.objects[0].metadata.name: Required value"}},
		"metadata that is a list":             {object: "{apiVersion: v1, kind: ConfigMap, metadata: []}", want: []string{"spec.objects[0].metadata: Invalid value: it has to be an object"}},
		"a name that would climb in a URL":    {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a/b}}", want: []string{"spec.objects[0].metadata.name: Invalid value"}},
		"generateName":                        {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, generateName: a-}}", want: []string{"spec.objects[0].metadata.generateName: Forbidden"}},
		"a label that is a number":            {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: 1}}}", want: []string{"spec.objects[0].metadata.labels[x]: Invalid value: /metadata/labels/x has to be a string"}},
		"status":                              {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, status: {x: 1}}", want: []string{"spec.objects[0].status: Forbidden: only the member writes it; leave it out (`hostctl federate` does"}},
		"owners, finalizers and the like":     {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences: [{name: b}], finalizers: [c/d], managedFields: [{}], uid: u, resourceVersion: '1'}}", want: []string{"spec.objects[0].metadata.ownerReferences", "spec.objects[0].metadata.finalizers", "spec.objects[0].metadata.managedFields", "spec.objects[0].metadata.uid", "spec.objects[0].metadata.resourceVersion"}},
		"the uid mark":                        {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {federation.fairlead.dev/uid: x}}}", want: []string{"spec.objects[0].metadata.labels[federation.fairlead.dev/uid]: Forbidden"}},
		"the other marks":                     {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {federation.fairlead.dev/wrapper: x, federation.fairlead.dev/object: x, federation.fairlead.dev/rendering: x, federation.fairlead.dev/adopted: x}}}", want: []string{"annotations[federation.fairlead.dev/wrapper]: Forbidden", "annotations[federation.fairlead.dev/object]: Forbidden", "annotations[federation.fairlead.dev/rendering]: Forbidden", "annotations[federation.fairlead.dev/adopted]: Forbidden"}},
		"the target of an upgrade":            {object: "{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a, annotations: {federation.fairlead.dev/target-csv: a.v1.0.0}}}", want: []string{"annotations[federation.fairlead.dev/target-csv]: Forbidden: only Fairlead sets it: write the target as targetCSV in spec.upgrade.subscriptions"}},
		"a role that widens the host's":       {kind: cfed, object: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {federation.fairlead.dev/aggregate-to-host: 'true'}}}", want: []string{"labels[federation.fairlead.dev/aggregate-to-host]: Forbidden"}},
		"keep with another word":              {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {federation.fairlead.dev/keep: 'yes'}}}", want: []string{`annotations[federation.fairlead.dev/keep]: Unsupported value: "yes": supported values: "true", "false"`}},
		"Fairlead's own kind":                 {object: "{apiVersion: federation.fairlead.dev/v1, kind: Federated, metadata: {name: a}}", want: []string{"spec.objects[0].apiVersion: Forbidden: Fairlead's own kinds"}},
		"the definition of one":               {kind: cfed, object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: federation.fairlead.dev}}", want: []string{"spec.objects[0].spec.group: Forbidden"}},
		"a namespace of Kubernetes":           {kind: cfed, object: "{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}", want: []string{"spec.objects[0].metadata.name: Forbidden: kube-*"}},
		"Fairlead's namespace":                {kind: cfed, object: "{apiVersion: v1, kind: Namespace, metadata: {name: fairlead-system}}", want: []string{"spec.objects[0].metadata.name: Forbidden: kube-*"}},
		"a List":                              {object: "{apiVersion: v1, kind: List, metadata: {name: a}, items: []}", want: []string{"spec.objects[0].kind: Forbidden: a list is not a single object"}},
		"a typed list":                        {object: "{apiVersion: v1, kind: ConfigMapList, metadata: {name: a}, items: []}", want: []string{"spec.objects[0].kind: Forbidden: a list is not a single object"}},
		"a value that is no object":           {object: "[1]", want: []string{"spec.objects[0]: Invalid value: it is not a JSON object"}},
		"an object that is nested 101 deep":   {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", want: []string{"spec.objects[0]: Invalid value: it is nested 101 levels deep, and 100 is the limit"}},
		"an object that is nested 100 deep":   {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: " + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "}"},
		"numbers as far as 64 bits go":        {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: [9223372036854775807, -9223372036854775808, 0.5, 1e18, '18446744073709551617']}"},
		"a number past 2^63":                  {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: [1, {y/z: 9223372036854775808}]}", want: []string{`spec.objects[0]: Invalid value: the number at "/x/1/y~1z" does not fit 64 bits and was rounded on its way here: quote it if it is meant as text`}},
		"a number past -2^63":                 {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: -18446744073709551617}", want: []string{`spec.objects[0]: Invalid value: the number at "/x" does not fit`}},
		"brackets in text, which do not nest": {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: '" + strings.Repeat(`[{"\`, 200) + "'}"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, namespace := fed, "shop"
			if tc.kind == cfed {
				kind, namespace = cfed, ""
			}
			s := spec(t, placed)
			s.Objects = []runtime.RawExtension{{Raw: fromYAML(t, tc.object)}}
			expectErrors(t, tc.want, s, namespace, kind)
		})
	}
}

// expectErrors checks that Validate returns as many errors as wanted, and that each one contains the wanted text.
func expectErrors(t *testing.T, want []string, s *v1alpha1.WrapperSpec, namespace string, kind v1alpha1.WrapperKind) {
	t.Helper()
	errs := Validate(s, namespace, kind)
	var got []string
	for _, err := range errs {
		got = append(got, err.Error())
	}
	if len(got) != len(want) {
		t.Fatalf("%d errors, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("error %d\n got  %s\n want %s", i, got[i], want[i])
		}
	}
}

func TestValidateWrapper(t *testing.T) {
	const object = "objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n"
	for name, tc := range map[string]struct {
		namespace, spec string
		want            []string
	}{
		"a home of Kubernetes":               {"kube-public", placed + object, []string{"metadata.namespace: Forbidden: nothing is federated into kube-public"}},
		"Fairlead's home":                    {"fairlead-system", placed + object, []string{"metadata.namespace: Forbidden"}},
		"no objects":                         {"shop", placed, []string{"spec.objects: Required value"}},
		"no placement":                       {"shop", object, []string{"spec.placement.clusters: Required value: name the members"}},
		"an empty placement":                 {"shop", object + "placement: {clusters: {}}", []string{"spec.placement.clusters: Required value: clusters is empty"}},
		"a selector that is none":            {"shop", object + "placement: {clusters: {selectors: [{}, {matchLabels: {'a b': c}}]}}", []string{"spec.placement.clusters.selectors[1]: Invalid value"}},
		"an operator that is none":           {"shop", object + "placement: {clusters: {selectors: [{matchExpressions: [{key: a, operator: Near}]}]}}", []string{`spec.placement.clusters.selectors[0]: Invalid value: "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Near\"}]}"`}},
		"an override of what cannot be read": {"shop", placed + "objects: [[1]]\noverrides: [{target: {kind: X}, merge: {a: 1}}]", []string{"spec.objects[0]: Invalid value: it is not a JSON object"}},
		"one object twice":                   {"shop", placed + "objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}]", []string{`spec.objects[1]: Duplicate value: "ConfigMap a is objects[0] already"`}},
		"one object in two versions":         {"shop", placed + "objects: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}, {apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: a}}]", []string{"spec.objects[1]: Duplicate value"}},
		"one name in different kinds":        {"shop", placed + "objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: Service, metadata: {name: a}}]", nil},
		"one kind's name, two groups":        {"shop", placed + "objects: [{apiVersion: a.io/v1, kind: X, metadata: {name: a}}, {apiVersion: b.io/v1, kind: X, metadata: {name: a}}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			expectErrors(t, tc.want, spec(t, tc.spec), tc.namespace, v1alpha1.KindFederated)
		})
	}
}

func TestValidateBounds(t *testing.T) {
	configMap := func(i, size int) runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"k":%q}}`, i, strings.Repeat("x", size))}
	}
	s := spec(t, placed)
	for i := range 4 {
		s.Objects = append(s.Objects, configMap(i, 200<<10))
	}
	expectErrors(t, nil, s, "shop", v1alpha1.KindFederated)

	s.Objects = append(s.Objects, configMap(4, 300<<10))
	expectErrors(t, []string{"spec.objects: Too long: a wrapper holds 1024 KiB of objects at most"}, s, "shop", v1alpha1.KindFederated)

	s.Objects = nil
	for i := range 65 {
		s.Objects = append(s.Objects, configMap(i, 1))
	}
	expectErrors(t, []string{"spec.objects: Too many: 65: must have at most 64 items"}, s, "shop", v1alpha1.KindFederated)
}

func TestValidateOverrides(t *testing.T) {
	const objects = placed + `
objects:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: cog}}
- {apiVersion: a.io/v1, kind: Twin, metadata: {name: a}}
- {apiVersion: b.io/v1, kind: Twin, metadata: {name: b}}
overrides:
- {target: {kind: Widget}, merge: {spec: {a: 1}}}
- `
	for name, tc := range map[string]struct {
		override string
		want     []string
	}{
		"a patch":                       {"{target: {kind: Deployment, name: web}, patch: [{op: add, path: /spec/replicas, value: 3}]}", nil},
		"a strategic merge":             {"{target: {kind: Deployment}, merge: {metadata: {name: web}, spec: {template: {$patch: delete}}}}", nil},
		"a target that is not there":    {"{target: {kind: Service}, merge: {a: 1}}", []string{"spec.overrides[1].target: Invalid value"}},
		"a target of two groups":        {"{target: {kind: Twin}, merge: {a: 1}}", []string{`set group to one of "a.io", "b.io"`}},
		"a selector that is none":       {"{clusters: {selectors: [{matchLabels: {'a b': c}}]}, target: {kind: Widget}, merge: {a: 1}}", []string{"spec.overrides[1].clusters.selectors[0]: Invalid value"}},
		"empty clusters":                {"{clusters: {}, target: {kind: Widget}, merge: {a: 1}}", []string{"spec.overrides[1].clusters: Required value"}},
		"neither patch nor merge":       {"{target: {kind: Widget}}", []string{"spec.overrides[1]: Invalid value: give patch or merge, exactly one of them"}},
		"both patch and merge":          {"{target: {kind: Widget}, merge: {a: 1}, patch: [{op: remove, path: /a}]}", []string{"spec.overrides[1]: Invalid value: give patch or merge, exactly one of them"}},
		"a path without a slash":        {"{target: {kind: Widget}, patch: [{op: remove, path: /a}, {op: remove, path: spec.a}]}", []string{`spec.overrides[1].patch[1].path: Invalid value: "spec.a": a JSON pointer begins with a slash`}},
		"a lone tilde":                  {"{target: {kind: Widget}, patch: [{op: remove, path: /a/b~c}]}", []string{`spec.overrides[1].patch[0].path: Invalid value: "/a/b~c": in "b~c" a tilde is not followed by 0 or 1`}},
		"from without a slash":          {"{target: {kind: Widget}, patch: [{op: move, path: /a, from: b}]}", []string{`spec.overrides[1].patch[0].from: Invalid value: "b"`}},
		"an unknown operation":          {"{target: {kind: Widget}, patch: [{op: append, path: /a}]}", []string{`spec.overrides[1].patch[0].op: Invalid value: "append"`}},
		"an unknown fieldPath":          {"{target: {kind: Widget}, patch: [{op: add, path: /a, valueFrom: {fieldPath: metadata.uid}}]}", []string{`spec.overrides[1].patch[0].valueFrom: Invalid value: "metadata.uid": fieldPath has to be`}},
		"an unknown whenMissing":        {"{target: {kind: Widget}, patch: [{op: add, path: /a, valueFrom: {fieldPath: metadata.name, whenMissing: Perhaps}}]}", []string{`spec.overrides[1].patch[0].valueFrom: Invalid value: "metadata.name": whenMissing has to be Skip or Fail`}},
		"no value":                      {"{target: {kind: Widget}, patch: [{op: add, path: /a}]}", []string{"spec.overrides[1].patch[0]: Invalid value: add takes value or valueFrom"}},
		"moving into itself":            {"{target: {kind: Widget}, patch: [{op: move, from: /a, path: /a/b}]}", []string{`spec.overrides[1].patch[0].path: Invalid value: "/a/b": path is below from, /a`}},
		"writing the name":              {"{target: {kind: Widget}, patch: [{op: replace, path: /metadata/name, value: x}]}", []string{"spec.overrides[1].patch[0].path: Forbidden: no override may change /metadata/name"}},
		"writing below status":          {"{target: {kind: Widget}, patch: [{op: add, path: /status/ready, value: x}]}", []string{"spec.overrides[1].patch[0].path: Forbidden: no override may change /status"}},
		"moving the finalizers away":    {"{target: {kind: Widget}, patch: [{op: move, from: /metadata/finalizers/0, path: /spec/x}]}", []string{"spec.overrides[1].patch[0].from: Forbidden: no override may move /metadata/finalizers away"}},
		"writing a mark":                {"{target: {kind: Widget}, patch: [{op: add, path: /metadata/labels/federation.fairlead.dev~1uid, value: x}]}", []string{"spec.overrides[1].patch[0].path: Forbidden"}},
		"testing the name":              {"{target: {kind: Widget}, patch: [{op: test, path: /metadata/name, value: x}]}", nil},
		"merging another name":          {"{target: {kind: Widget}, merge: {metadata: {name: x}}}", []string{"spec.overrides[1].merge.metadata.name: Forbidden"}},
		"merging a mark":                {"{target: {kind: Widget}, merge: {metadata: {annotations: {federation.fairlead.dev/object: x}}}}", []string{"spec.overrides[1].merge.metadata.annotations[federation.fairlead.dev/object]: Forbidden"}},
		"a value past 2^63":             {"{target: {kind: Widget}, patch: [{op: add, path: /spec/x, value: {size: 18446744073709551617}}]}", []string{`spec.overrides[1].patch[0].value: Invalid value: the number at "/size" does not fit 64 bits`}},
		"a merge of a number past 2^63": {"{target: {kind: Widget}, merge: {spec: {x: 18446744073709551617}}}", []string{`spec.overrides[1].merge: Invalid value: the number at "/spec/x" does not fit 64 bits`}},
		"a value nested 10,000 deep":    {"{target: {kind: Widget}, patch: [{op: add, path: /spec/x, value: " + strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990) + "}]}", []string{`spec.overrides[1].patch[0].value: Invalid value: it is nested 9990 levels deep, and 100 is the limit`}},
		"a merge that is no object":     {"{target: {kind: Widget}, merge: [1]}", []string{"spec.overrides[1].merge: Invalid value: it is not a JSON object"}},
		"a directive for a custom kind": {"{target: {kind: Widget}, merge: {spec: {$patch: replace}}}", []string{`spec.overrides[1].merge: Invalid value: "$patch": this is a directive of the strategic merge`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, objects+tc.override)
			expectErrors(t, tc.want, s, "shop", v1alpha1.KindFederated)
			if len(tc.want) == 0 {
				if _, err := Compile(s.Overrides); err != nil {
					t.Errorf("what Validate lets through does not compile: %v", err)
				}
			}
		})
	}
}

func TestValuesOfAPatchStayOutOfItsErrors(t *testing.T) {
	s := spec(t, placed+`
objects: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]
overrides: [{target: {kind: Secret}, patch: [{op: append, path: /stringData/p, value: hunter2}]}]`)
	errs := Validate(s, "shop", v1alpha1.KindFederated)
	if len(errs) != 1 || strings.Contains(errs.ToAggregate().Error(), "hunter2") {
		t.Errorf("got %v", errs)
	}
	if diff := cmp.Diff("spec.overrides[0].patch[0].op", errs[0].Field); diff != "" {
		t.Error(diff)
	}
}
