// SPDX-License-Identifier: Apache-2.0

package kubefed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPropagated(t *testing.T) {
	ok := []any{map[string]any{"name": "member-1"}, map[string]any{"name": "member-2", "status": ""}}
	isTrue := []any{map[string]any{"type": "Propagation", "status": "True"}}
	for name, tt := range map[string]struct {
		status     map[string]any
		generation int64
		ok         bool
	}{
		"on all members": {
			status:     map[string]any{"observedGeneration": int64(3), "clusters": ok, "conditions": isTrue},
			generation: 3, ok: true,
		},
		"without a status": {},
		"on one member only": {
			status: map[string]any{"observedGeneration": int64(3), "clusters": ok[:1], "conditions": isTrue},
		},
		"refused by a member": {
			status: map[string]any{
				"observedGeneration": int64(3), "conditions": isTrue,
				"clusters": []any{ok[0], map[string]any{"name": "member-2", "status": "CreationFailed"}},
			},
		},
		"not propagated": {
			status: map[string]any{
				"observedGeneration": int64(3), "clusters": ok,
				"conditions": []any{map[string]any{"type": "Propagation", "status": "False"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := Namespace("a")
			if tt.status != nil {
				obj.Object["status"] = tt.status
			}
			generation, ok := propagated(obj, 2)
			if generation != tt.generation || ok != tt.ok {
				t.Errorf("got %d, %t, want %d, %t", generation, ok, tt.generation, tt.ok)
			}
		})
	}
}

func TestAFederatedConfigMapHasTheDataAndNoName(t *testing.T) {
	like := &unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"colour": "1"},
	}}
	obj := ConfigMap("ns", "a", like)
	like.Object["data"].(map[string]any)["colour"] = "2"
	Retemplate(obj, like)
	like.Object["data"].(map[string]any)["colour"] = "3" // must not change obj: Retemplate has to copy the data
	want := map[string]any{
		"placement": map[string]any{"clusterSelector": map[string]any{}},
		"template":  map[string]any{"data": map[string]any{"colour": "2"}},
	}
	if diff := cmp.Diff(want, obj.Object["spec"]); diff != "" {
		t.Error(diff)
	}
}

func TestTheHolderOfTheLock(t *testing.T) {
	for name, tt := range map[string]struct {
		record, want string
		fails        bool
	}{
		"no leader yet":     {},
		"a leader":          {record: `{"holderIdentity":"a_1","leaseDurationSeconds":15}`, want: "a_1"},
		"an unknown record": {record: "a_1", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := holder(tt.record)
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestTypeConfigsAreThoseOfTheChart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "charts", "kubefed", "templates", "federatedtypeconfig.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	const chart = "---\n# a comment\n---\n{kind: FederatedTypeConfig, metadata: {name: b}}\n---\n{kind: FederatedTypeConfig, metadata: {name: a}}\n"
	if err := os.WriteFile(file, []byte(chart), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Release{Version: "v1", dir: dir}
	found, err := r.typeConfigs("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].GetName() != "a" || found[1].GetName() != "b" {
		t.Errorf("got %v", found)
	}
	if _, err := r.typeConfigs("c"); err == nil || !strings.Contains(err.Error(), `the chart of KubeFed v1 has no FederatedTypeConfig "c"`) {
		t.Errorf("got %v", err)
	}
	if _, err := r.crds(); err == nil || !strings.Contains(err.Error(), "reading a file of KubeFed v1") {
		t.Errorf("got %v", err)
	}
}

func TestAMissingModuleIsAClearError(t *testing.T) {
	_, err := Build(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "program"))
	if err == nil || !strings.Contains(err.Error(), "the module that builds KubeFed is missing") {
		t.Errorf("got %v", err)
	}
}

func TestLastLines(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":    {},
		"few lines":  {text: "a\nb\n", want: "a\nb"},
		"many lines": {text: "a\nb\nc\n", want: "b\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastLines(tt.text, 2); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
