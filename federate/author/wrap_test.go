// SPDX-License-Identifier: Apache-2.0

package author

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/overrides"
)

func TestSanitizingTwiceChangesNothing(t *testing.T) {
	for _, file := range []string{"testdata/live.in.yaml", "testdata/byhand.in.yaml"} {
		for _, m := range parseFile(t, file) {
			once, _ := Sanitize(m.Object)
			twice, notes := Sanitize(once)
			if diff := cmp.Diff(once.Object, twice.Object); diff != "" || len(notes) > 0 {
				t.Errorf("%s: notes %q, and:\n%s", m.Where, notes, diff)
			}
		}
	}
}

func parseFile(t *testing.T, file string) []Manifest {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	manifests, _, err := Parse([]Source{{Name: file, Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func TestOutputReadsBackAndIsAdmitted(t *testing.T) {
	for _, file := range []string{"testdata/live.in.yaml", "testdata/byhand.in.yaml"} {
		for _, bundle := range []string{"", "all"} {
			wrappers, _, err := Wrap(parseFile(t, file), Options{Namespace: "shop", Bundle: bundle, Clusters: everywhere})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range wrappers {
				spec, err := w.Spec()
				if err != nil {
					t.Fatal(err)
				}
				if errs := overrides.Validate(spec, w.Namespace, w.Kind); len(errs) > 0 {
					t.Errorf("%s: %s %s: %v", file, w.Kind, w.Name, errs)
				}
			}
			checkReadsBack(t, wrappers)
		}
	}
}

// checkReadsBack writes the wrappers as YAML and as JSON, decodes both with kubectl's decoder, and compares the results
// with the wrappers.
func checkReadsBack(t *testing.T, wrappers []*Wrapper) {
	t.Helper()
	var asYAML, asJSON bytes.Buffer
	if err := WriteYAML(&asYAML, wrappers); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&asJSON, wrappers); err != nil {
		t.Fatal(err)
	}
	var list any
	if err := yaml.Unmarshal(asJSON.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	want := []any{list}
	if len(wrappers) > 1 {
		want = list.(map[string]any)["items"].([]any)
	}
	var got []any
	for _, d := range split(asYAML.Bytes()) {
		var value any
		if err := yaml.UnmarshalStrict(d.text, &value); err != nil {
			t.Fatalf("%v in:\n%s", err, d.text)
		}
		got = append(got, value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("YAML does not say what JSON says (-json +yaml):\n%s", diff)
	}
}

func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	const a, b = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"
	var outs []string
	for _, text := range []string{a + "---\n" + b, b + "---\n" + a} {
		wrappers, _ := wrap(t, text, Options{Namespace: "shop", Clusters: everywhere})
		var out bytes.Buffer
		if err := WriteYAML(&out, wrappers); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out.String())
	}
	if diff := cmp.Diff(outs[0], outs[1]); diff != "" {
		t.Error(diff)
	}
}

func TestFullWrappersAreSplit(t *testing.T) {
	maps := func(count, size int) string {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map-%03d, namespace: shop}\ndata: {a: %s}\n---\n",
				i, strings.Repeat("x", size))
		}
		return text.String()
	}
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"at 64 objects":                        {maps(130, 1), []string{"shop 64", "shop-2 64", "shop-3 2"}},
		"not before":                           {maps(64, 1), []string{"shop 64"}},
		"at 1 MiB":                             {maps(5, 300<<10), []string{"shop 3", "shop-2 2"}},
		"and not by the sum of two namespaces": {maps(64, 1) + strings.ReplaceAll(maps(1, 1), "shop", "web"), []string{"shop 64", "shop 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			wrappers, notes := wrap(t, tc.text, Options{Bundle: "shop", Clusters: everywhere})
			var got []string
			parts := 0
			for _, w := range wrappers {
				got = append(got, fmt.Sprintf("%s %d", w.Name, len(w.Objects)))
				if strings.Contains(w.Name, "-") {
					parts++
				}
				spec, err := w.Spec()
				if err != nil {
					t.Fatal(err)
				}
				if errs := overrides.Validate(spec, w.Namespace, w.Kind); len(errs) > 0 {
					t.Errorf("%s: %v", w.Name, errs)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if len(notes) != parts {
				t.Errorf("each of %d splits was to be told, got %v", parts, notes)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	teapot := schema.GroupKind{Group: "example.com", Kind: "Teapot"}
	said := func(scope Scope, err error) func(schema.GroupVersionKind) (Scope, error) {
		return func(schema.GroupVersionKind) (Scope, error) { return scope, err }
	}
	const without = "apiVersion: example.com/v1\nkind: Teapot\nmetadata: {name: betty}\n"
	const within = "apiVersion: example.com/v1\nkind: Teapot\nmetadata: {name: betty, namespace: kitchen}\n"
	const definition = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: teapots.example.com}\n" +
		"spec: {group: example.com, scope: Cluster, names: {kind: Teapot}}\n"
	for name, tc := range map[string]struct {
		text    string
		options Options
		want    Scope
		err     string
	}{
		"an unknown kind asks": {
			text: without,
			err:  "--namespaced Teapot.example.com or --cluster-scoped Teapot.example.com",
		},
		"a namespace in the object tells": {text: within, want: Namespaced},
		"a definition in the input tells": {text: without + definition, want: ClusterScoped},
		"a flag tells": {
			text:    without,
			options: Options{Scopes: map[schema.GroupKind]Scope{teapot: ClusterScoped}},
			want:    ClusterScoped,
		},
		"a flag wins over a definition": {
			text:    within + definition,
			options: Options{Scopes: map[schema.GroupKind]Scope{teapot: Namespaced}},
			want:    Namespaced,
		},
		"the host tells":                {text: without, options: Options{Lookup: said(ClusterScoped, nil)}, want: ClusterScoped},
		"the host is not asked in vain": {text: within, options: Options{Lookup: said("", errors.New("asked"))}, want: Namespaced},
		"what the host says is wrong is told": {
			text:    without,
			options: Options{Lookup: said("", errors.New("no route to host"))},
			err:     "no route to host",
		},
		"a namespaced object needs a namespace": {
			text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			err:  "in.yaml, document 1 (line 1), ConfigMap a: metadata.namespace: is missing",
		},
		"a new kind of a known group is not guessed": {
			text: "apiVersion: apps/v9\nkind: Galaxy\nmetadata: {name: a}\n",
			err:  "Galaxy is not known here",
		},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, _, err := Parse([]Source{{Name: "in.yaml", Data: []byte(tc.text)}})
			if err != nil {
				t.Fatal(err)
			}
			wrappers, _, err := Wrap(manifests, tc.options)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("want an error with %q, got: %v", tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := wrappers[len(wrappers)-1].Kind; got != wrapperKind(tc.want) {
				t.Errorf("want a %s, got a %s", wrapperKind(tc.want), got)
			}
		})
	}
}

func TestFederateRefusesWhatAdmissionRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"the same object twice": {
			webMap + "---\n" + webMap,
			"document 2 (line 5), ConfigMap web: is in the input twice, first in in.yaml, document 1",
		},
		"twice, once by default": {webMap + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n", "is in the input twice"},
		"a namespace that is no home": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\n",
			"ConfigMap a: metadata.namespace: Fairlead federates nothing into kube-system",
		},
		"a namespace that is not shared": {
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-public}\n",
			"Namespace kube-public: metadata.name: kube-*",
		},
		"a name that is no path": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a/b}\n", "metadata.name: may not contain"},
		"a mark of the administrator": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {federation.fairlead.dev/aggregate-to-host: \"true\"}}\n",
			"would give Fairlead more permissions",
		},
		"an object past 1 MiB": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: " + strings.Repeat("x", MaxBytes) + "}\n",
			"an object cannot be split",
		},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, _, err := Parse([]Source{{Name: "in.yaml", Data: []byte(tc.text)}})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err = Wrap(manifests, Options{Namespace: "shop", Bundle: "a"}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got: %v", tc.want, err)
			}
		})
	}
}

func TestNamesOfWrappers(t *testing.T) {
	long := strings.Repeat("a", 80)
	text := ""
	for _, name := range []string{"a:b", "a-b", "a..b", long + "1", long + "2"} {
		text += fmt.Sprintf("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %q}\n", name)
	}
	wrappers, _ := wrap(t, text, Options{Clusters: everywhere})
	seen := map[string]bool{}
	for _, w := range wrappers {
		if seen[w.Name] || len(w.Name) > maxWrapperName {
			t.Errorf("%s: is there twice, or too long", w.Name)
		}
		seen[w.Name] = true
	}
	if !seen["clusterrole-a-b"] {
		t.Errorf("a plain name was to stay plain: %v", seen)
	}
}
