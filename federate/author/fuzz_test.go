// SPDX-License-Identifier: Apache-2.0

package author

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/overrides"
)

// FuzzParse passes any bytes to the package. The package must not panic, and a second sanitizing must not change the
// object again. Admission has to accept the output, and the output has to decode to the same objects.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/live.in.yaml", "testdata/byhand.in.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		for _, d := range split(data) {
			f.Add(d.text)
		}
	}
	f.Add([]byte(`{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"a"},"data":{"a":-0.0,"b":1e3}}]}`))
	f.Add([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [1, {nodePort: 2}], clusterIP: 7}\n"))
	f.Fuzz(checkPromises)
}

func checkPromises(t *testing.T, data []byte) {
	t.Helper()
	manifests, _, err := Parse([]Source{{Name: "in", Data: data}})
	if err != nil {
		return
	}
	for _, m := range manifests {
		once, _ := Sanitize(m.Object)
		if twice, _ := Sanitize(once); !cmp.Equal(once.Object, twice.Object) {
			t.Errorf("sanitizing twice: %s", cmp.Diff(once.Object, twice.Object))
		}
	}
	lookup := func(schema.GroupVersionKind) (Scope, error) { return ClusterScoped, nil }
	for _, bundle := range []string{"", "all"} {
		wrappers, _, err := Wrap(manifests, Options{Namespace: "shop", Bundle: bundle, Clusters: everywhere, Lookup: lookup})
		if err != nil {
			return
		}
		for _, w := range wrappers {
			spec, err := w.Spec()
			if err != nil {
				t.Fatal(err)
			}
			if errs := overrides.Validate(spec, w.Namespace, w.Kind); len(errs) > 0 {
				t.Errorf("%s %s/%s: %v", w.Kind, w.Namespace, w.Name, errs)
			}
			for _, object := range w.Objects {
				checkObjectReadsBack(t, object.Object)
			}
		}
	}
}

func checkObjectReadsBack(t *testing.T, content map[string]any) {
	t.Helper()
	text, err := ObjectYAML(content)
	if err != nil {
		t.Fatal(err)
	}
	values, err := decode(text)
	if err != nil || len(values) != 1 {
		t.Fatalf("%d values, %v in:\n%s", len(values), err, text)
	}
	want, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(values[0])
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("wrote %s, read back %s, from:\n%s", want, got, text)
	}
}
