// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const revisionBase = `
objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "1", big: 9007199254740993}}]
placement: {clusters: {names: [east]}}
overrides:
- {target: {kind: ConfigMap}, patch: [{op: add, path: /data/y, value: {p: 1, q: 2}}]}
- {target: {kind: ConfigMap}, merge: {data: {z: "<&>"}}}
`

func revisionOf(t *testing.T, text string) Revision {
	t.Helper()
	var s v1alpha1.WrapperSpec
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatalf("the test's spec: %v", err)
	}
	r, err := Of(&s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRevisionOf(t *testing.T) {
	base := revisionOf(t, revisionBase)
	if !regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{10}$`).MatchString(base.Hash) {
		t.Errorf("hash %q", base.Hash)
	}
	want := `{"objects":[{"apiVersion":"v1","data":{"big":9007199254740993,"x":"1"},"kind":"ConfigMap","metadata":{"name":"a"}}],` +
		`"overrides":[{"patch":[{"op":"add","path":"/data/y","value":{"p":1,"q":2}}],"target":{"kind":"ConfigMap"}},` +
		`{"merge":{"data":{"z":"<&>"}},"target":{"kind":"ConfigMap"}}]}`
	if diff := cmp.Diff(want, string(base.Data)); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}

	for name, tc := range map[string]struct {
		from, to string
		same     bool
	}{
		"the order of keys in an object": {`{x: "1", big: 9007199254740993}`, `{big: 9007199254740993, x: "1"}`, true},
		"the order of keys in a value":   {`{p: 1, q: 2}`, `{q: 2, p: 1}`, true},
		"placement":                      {`names: [east]`, `names: [west]`, true},
		"drift, conflicts and deletion": {`placement:`,
			"drift: Report\nonConflict: AdoptIfEqual\nonDelete: KeepAll\nsuspend: All\nplacement:", true},
		"the rollback of operators": {`placement:`, "upgrade: {rollback: Reinstall}\nplacement:", true},
		"a value in an object":      {`x: "1"`, `x: "2"`, false},
		"a large integer, by one":   {`9007199254740993`, `9007199254740992`, false},
		"a value in a patch":        {`q: 2`, `q: 3`, false},
		"the members that an override selects": {`- {target: {kind: ConfigMap}, patch`,
			`- {clusters: {names: [east]}, target: {kind: ConfigMap}, patch`, false},
		"an upgrade":                        {`placement:`, "upgrade: {subscriptions: [{name: a, targetCSV: a.v1.0.0}]}\nplacement:", false},
		"one override less":                 {`- {target: {kind: ConfigMap}, merge: {data: {z: "<&>"}}}`, ``, false},
		"the same text with one more space": {`kind: ConfigMap, metadata`, `kind:   ConfigMap, metadata`, true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(revisionBase, tc.from, tc.to, 1)
			if changed == revisionBase {
				t.Fatal("the test changes nothing")
			}
			got := revisionOf(t, changed)
			if same := got.Hash == base.Hash; same != tc.same {
				t.Errorf("same hash: %v, want %v", same, tc.same)
			}
			if same := string(got.Data) == string(base.Data); same != tc.same {
				t.Errorf("same data: %v, want %v", same, tc.same)
			}
		})
	}
}

// Earlier versions of Fairlead stored a revision with this content under this name. If this version computed another
// name, an upgrade of Fairlead would make a new revision of every wrapper.
func TestARevisionWithoutUpgradeKeepsItsName(t *testing.T) {
	for name, text := range map[string]string{"none": revisionBase, "an empty one": revisionBase + "upgrade: {}\n"} {
		t.Run(name, func(t *testing.T) {
			if got := Name(v1alpha1.KindFederated, "web", revisionOf(t, text).Hash); got != "fed-web-b7c62rxb6q" {
				t.Error(got)
			}
		})
	}
}

func TestARevisionGivesItsContentBack(t *testing.T) {
	var want v1alpha1.WrapperSpec
	text := revisionBase + "upgrade: {subscriptions: [{name: a, targetCSV: a.v1.0.0}, {name: b, targetCSV: b.v2.0.0}], sharedNamespace: Allow}\n"
	if err := yaml.UnmarshalStrict([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if reinstalls := revisionOf(t, strings.Replace(text, "upgrade: {", "upgrade: {rollback: Reinstall, ", 1)); reinstalls.Hash != revisionOf(t, text).Hash {
		t.Error("spec.upgrade.rollback, which is a policy, makes another revision")
	}
	r := revisionOf(t, text)
	if part := `,"upgrade":{"sharedNamespace":"Allow","subscriptions":[{"name":"a","targetCSV":"a.v1.0.0"},{"name":"b","targetCSV":"b.v2.0.0"}]}}`; !strings.HasSuffix(string(r.Data), part) {
		t.Errorf("data: %s", r.Data)
	}
	got, err := r.Spec()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Upgrade, got.Upgrade); diff != "" {
		t.Errorf("upgrade (-want +got):\n%s", diff)
	}
	again, err := Of(got)
	if err != nil || again.Hash != r.Hash {
		t.Errorf("written again its hash is %s, not %s (%v)", again.Hash, r.Hash, err)
	}
}

func TestARevisionCanHoldEveryValidSpec(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	revisionOf(t, strings.Replace(revisionBase, "{p: 1, q: 2}", deep, 1))
}

func TestWhitespaceInRawObjectsMakesNoNewRevision(t *testing.T) {
	a, b := v1alpha1.WrapperSpec{}, v1alpha1.WrapperSpec{}
	a.Objects = append(a.Objects, rawObject(`{"apiVersion":"v1","kind":"X","metadata":{"name":"a"}}`))
	b.Objects = append(b.Objects, rawObject("{ \"kind\": \"X\",\n\t\"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\"} }"))
	one, err := Of(&a)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Of(&b)
	if err != nil {
		t.Fatal(err)
	}
	if one.Hash != two.Hash {
		t.Error("whitespace made a revision")
	}
}

func TestRevisionName(t *testing.T) {
	long := strings.Repeat("n", 253)
	for name, tc := range map[string]struct {
		kind       v1alpha1.WrapperKind
		name, want string
	}{
		"of a Federated":        {v1alpha1.KindFederated, "web", "fed-web-2b4c6d8f9g"},
		"of a ClusterFederated": {v1alpha1.KindClusterFederated, "web", "cfed-web-2b4c6d8f9g"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Name(tc.kind, tc.name, "2b4c6d8f9g")); diff != "" {
				t.Error(diff)
			}
		})
	}
	a := Name(v1alpha1.KindFederated, long, "2b4c6d8f9g")
	b := Name(v1alpha1.KindFederated, long[:252]+"m", "2b4c6d8f9g")
	if len(a) != 253 || !strings.HasSuffix(a, "-2b4c6d8f9g") || a == b {
		t.Errorf("%d characters, %q, the same for another name: %v", len(a), a[len(a)-12:], a == b)
	}
}

func rawObject(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
