// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

// catalogDocument can be any document of a catalog. The tests read a catalog as a server does: by the schema, with properties as raw JSON.
type catalogDocument struct {
	Schema, Name, Package, DefaultChannel, Image string
	Entries                                      []upgrade
	Properties                                   []struct {
		Type  string
		Value json.RawMessage
	}
}

func documentsOf(t *testing.T, versions ...string) []catalogDocument {
	t.Helper()
	var bundles []Bundle
	for _, version := range versions {
		bundles = append(bundles, Bundle{Version: version})
	}
	return documentsWith(t, bundles)
}

func documentsWith(t *testing.T, bundles []Bundle) []catalogDocument {
	t.Helper()
	content, err := renderCatalog(bundles)
	if err != nil {
		t.Fatal(err)
	}
	var documents []catalogDocument
	for decoder := json.NewDecoder(bytes.NewReader(content)); ; {
		var d catalogDocument
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return documents
		} else if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, d)
	}
}

func TestCatalogIsOnePackageWithALineOfUpgrades(t *testing.T) {
	documents := documentsOf(t, demooperator.Versions()...)
	if len(documents) != 5 {
		t.Fatalf("want package, channel and three bundles, got %d documents", len(documents))
	}
	if d := documents[0]; d.Schema != "olm.package" || d.Name != "demo-operator" || d.DefaultChannel != "stable" {
		t.Errorf("the package is %+v", d)
	}
	want := []upgrade{
		{Name: "demo-operator.v1.0.0"},
		{Name: "demo-operator.v1.1.0", Replaces: "demo-operator.v1.0.0"},
		{Name: "demo-operator.v1.2.0", Replaces: "demo-operator.v1.1.0"},
	}
	if d := documents[1]; d.Schema != "olm.channel" || d.Name != "stable" || d.Package != "demo-operator" {
		t.Errorf("the channel is %+v", d)
	}
	if diff := cmp.Diff(want, documents[1].Entries); diff != "" {
		t.Errorf("upgrades (-want +got):\n%s", diff)
	}
}

func TestABundleIsInTheChannelsThatItNames(t *testing.T) {
	documents := documentsWith(t, []Bundle{{Version: "v1.0.0", Channels: []string{"stable", "fast"}}, {Version: "v1.1.0"}, {Version: "v2.0.0", Channels: []string{"fast"}}})
	got := map[string][]upgrade{}
	for _, d := range documents {
		if d.Schema == "olm.channel" {
			got[d.Name] = d.Entries
		}
	}
	first := upgrade{Name: "demo-operator.v1.0.0"}
	want := map[string][]upgrade{
		"stable": {first, {Name: "demo-operator.v1.1.0", Replaces: "demo-operator.v1.0.0"}},
		"fast":   {first, {Name: "demo-operator.v2.0.0", Replaces: "demo-operator.v1.0.0"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("upgrades by channel (-want +got):\n%s", diff)
	}
}

func TestBundlesAreInlineAndWhole(t *testing.T) {
	for i, version := range demooperator.Versions() {
		t.Run(version, func(t *testing.T) {
			bundle := documentsOf(t, demooperator.Versions()...)[2+i]
			if bundle.Schema != "olm.bundle" || bundle.Name != "demo-operator."+version || bundle.Image != "" {
				t.Errorf("the bundle is %s %s with image %q", bundle.Schema, bundle.Name, bundle.Image)
			}
			properties := map[string][]json.RawMessage{}
			for _, p := range bundle.Properties {
				properties[p.Type] = append(properties[p.Type], p.Value)
			}
			n := [3]int{len(properties["olm.package"]), len(properties["olm.gvk"]), len(properties["olm.bundle.object"])}
			if n != [3]int{1, 1, 2} {
				t.Fatalf("want one olm.package, one olm.gvk and two olm.bundle.object, got %v", n)
			}
			want := `{"packageName":"demo-operator","version":"` + version[1:] + `"}`
			if got := compact(t, properties["olm.package"][0]); got != want {
				t.Errorf("olm.package is %s, want %s", got, want)
			}
			want = `{"group":"demo.fairlead.dev","kind":"Greeting","version":"v1"}`
			if got := compact(t, properties["olm.gvk"][0]); got != want {
				t.Errorf("olm.gvk is %s, want %s", got, want)
			}
			if properties["olm.csv.metadata"] != nil {
				t.Error("olm.csv.metadata in a bundle without an image is refused by OLM")
			}

			var csv operatorsv1alpha1.ClusterServiceVersion
			var crd apiextensionsv1.CustomResourceDefinition
			manifest(t, properties["olm.bundle.object"][0], &csv)
			manifest(t, properties["olm.bundle.object"][1], &crd)
			checkCSV(t, version, i, &csv)
			owned := csv.Spec.CustomResourceDefinitions.Owned
			if len(owned) != 1 || owned[0].Name != crd.Name || owned[0].Kind != crd.Spec.Names.Kind {
				t.Errorf("the ClusterServiceVersion owns %v, the CRD is %s", owned, crd.Name)
			}
		})
	}
}

func TestABundleMayNeedALaterKubernetes(t *testing.T) {
	for needs, want := range map[string]string{"": minKubeVersion, "99.0.0": "99.0.0"} {
		csv, err := newCSV(Bundle{Version: "v1.3.0", MinKubeVersion: needs}, "demo-operator.v1.2.0")
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := unstructured.NestedString(csv.Object, "spec", "minKubeVersion")
		if got != want || csv.GetName() != "demo-operator.v1.3.0" {
			t.Errorf("%s needs Kubernetes %s, want %s", csv.GetName(), got, want)
		}
	}
}

func checkCSV(t *testing.T, version string, i int, csv *operatorsv1alpha1.ClusterServiceVersion) {
	t.Helper()
	if csv.Name != "demo-operator."+version || "v"+csv.Spec.Version.String() != version {
		t.Errorf("the ClusterServiceVersion is %s of version %s", csv.Name, csv.Spec.Version)
	}
	replaces := ""
	if i > 0 {
		replaces = "demo-operator." + demooperator.Versions()[i-1]
	}
	if csv.Spec.Replaces != replaces {
		t.Errorf("it replaces %q, want %q", csv.Spec.Replaces, replaces)
	}
	strategy := csv.Spec.InstallStrategy.StrategySpec
	if len(strategy.ClusterPermissions) > 0 {
		t.Errorf("it asks for cluster-wide permissions: %v", strategy.ClusterPermissions)
	}
	d := strategy.DeploymentSpecs[0]
	if got := d.Spec.Template.Spec.Containers[0].Image; got != "example.invalid/demo-operator:"+version {
		t.Errorf("its image is %s", got)
	}
	if d.Label[demooperator.DeploymentLabel] != demooperator.Name {
		t.Errorf("the Deployment has labels %v, without the one by which the sandbox finds it", d.Label)
	}
	if len(strategy.Permissions) != 1 || strategy.Permissions[0].ServiceAccountName != d.Spec.Template.Spec.ServiceAccountName {
		t.Errorf("permissions are for %v, the Deployment's account is %s", strategy.Permissions, d.Spec.Template.Spec.ServiceAccountName)
	}
	for key, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[key] != value || value == version {
			t.Errorf("the selector %s=%s has to match the pods of every version", key, value)
		}
	}
}

func manifest(t *testing.T, value json.RawMessage, into any) {
	t.Helper()
	var object struct{ Data []byte }
	if err := json.Unmarshal(value, &object); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(object.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWrittenCatalogIsReadBackAndAloneInItsFolder(t *testing.T) {
	c := Cluster{Name: "member-1", Dir: t.TempDir()}
	for n := 1; n <= 2; n++ {
		want := demooperator.Versions()[:n]
		if err := c.writeCatalog(want); err != nil {
			t.Fatal(err)
		}
		got, err := c.published()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	entries, err := os.ReadDir(c.catalogDir())
	if err != nil || len(entries) != 1 {
		t.Errorf("the served folder has %v, %v", entries, err)
	}
}

func TestInstallKeepsWhatIsPublished(t *testing.T) {
	c := Cluster{Name: "member-1", Dir: t.TempDir()}
	if err := c.startCatalog(); err != nil {
		t.Fatal(err)
	}
	if err := c.writeCatalog([]string{"v1.0.0", "v1.1.0"}); err != nil {
		t.Fatal(err)
	}
	if err := c.startCatalog(); err != nil {
		t.Fatal(err)
	}
	got, err := c.published()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1.0.0", "v1.1.0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
