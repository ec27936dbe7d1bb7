// SPDX-License-Identifier: Apache-2.0

package federate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/author"
)

const samples = "../../../config/samples"

// run runs the command with this standard input and these arguments.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	streams, in, out, errOut := genericiooptions.NewTestIOStreams()
	in.WriteString(stdin)
	cmd := New(streams)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.Execute()
	return out.String(), errOut.String(), err
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheSampleEqualsTheOutputOfFederatePlusItsPatch(t *testing.T) {
	out, notes, err := run(t, "", "-f", filepath.Join(samples, "plain/shop"), "--bundle", "shop", "--all-clusters")
	if err != nil || notes != "" {
		t.Fatalf("federate returned %v, notes: %s", err, notes)
	}
	sample := readFile(t, filepath.Join(samples, "shop.yaml"))
	if !strings.Contains(sample, out) {
		t.Errorf("the beginning of shop.yaml differs from the output of federate:\n%s", cmp.Diff(sample, out))
	}
	got := decode(t, out)
	patch := decode(t, readFile(t, filepath.Join(samples, "plain/shop-patch.yaml")))
	maps.Copy(got["spec"].(map[string]any), patch["spec"].(map[string]any))
	if diff := cmp.Diff(decode(t, sample), got); diff != "" {
		t.Errorf("shop.yaml differs from the wrapper merged with the overrides (-shop.yaml +merged):\n%s", diff)
	}
}

func TestPlacementComesFromFlags(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
	for name, tc := range map[string]struct {
		args []string
		want string
		note string
	}{
		"no flag":      {nil, "    clusters: {}\n", "placeholder, which the host refuses"},
		"all clusters": {[]string{"--all-clusters"}, "      selectors:\n      - {}\n", ""},
		"names of clusters": {[]string{"--clusters", "b,a", "--clusters", "b"},
			"    clusters:\n      names:\n      - b\n      - a\n", ""},
		"labels, one of which is enough": {[]string{"--cluster-selector", "env=prod", "--cluster-selector", "!edge"},
			"      selectors:\n      - matchLabels:\n          env: prod\n" +
				"      - matchExpressions:\n        - key: edge\n          operator: DoesNotExist\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, notes, err := run(t, object, append(tc.args, "-f", "-", "-n", "shop")...)
			if err != nil || !strings.HasSuffix(out, tc.want) {
				t.Errorf("error %v; want output that ends in:\n%s\ngot:\n%s", err, tc.want, out)
			}
			if tc.note == "" && notes != "" || !strings.Contains(notes, tc.note) {
				t.Errorf("want a note with %q, got: %s", tc.note, notes)
			}
		})
	}
}

func TestNotesStayOffStdout(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {b: c}\n"
	out, notes, err := run(t, secret, "-f", "-", "-n", "shop", "--all-clusters", "-o", "json")
	if err != nil || !strings.HasPrefix(notes, "note: standard input, document 1 (line 1), Secret a: ") {
		t.Errorf("%v: %s", err, notes)
	}
	if decode(t, out)["kind"] != "Federated" {
		t.Errorf("want one object as JSON, got %s", out)
	}
}

func TestFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("README.md", "no manifest")
	write("b.yml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\n")
	write("deeper/a.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`)
	for name, tc := range map[string]struct {
		args []string
		want int
	}{
		"only the folder's own files":   {nil, 1},
		"the folder and its subfolders": {[]string{"-R"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := run(t, "", append(tc.args, "-f", dir, "--all-clusters")...)
			if got := strings.Count(out, "kind: Federated\n"); err != nil || got != tc.want {
				t.Errorf("error %v; want %d wrappers, got:\n%s", err, tc.want, out)
			}
		})
	}
	if _, _, err := run(t, "", "-f", filepath.Join(dir, "deeper", "..", "nowhere")); err == nil {
		t.Error("want an error for a file that does not exist")
	}
	empty := t.TempDir()
	if _, _, err := run(t, "", "-f", empty); err == nil || !strings.Contains(err.Error(), "no .yaml, .yml or .json file") {
		t.Errorf("want an error for an empty folder, got: %v", err)
	}
}

func TestWrongFlagsAreUsageErrors(t *testing.T) {
	for name, args := range map[string][]string{
		"no file":                            {},
		"an unknown output":                  {"-f", "-", "-o", "table"},
		"all clusters and names of clusters": {"-f", "-", "--all-clusters", "--clusters", "a"},
		"a bad name":                         {"-f", "-", "--clusters", "A_B"},
		"a bad selector":                     {"-f", "-", "--cluster-selector", "a=b=c"},
		"an empty selector":                  {"-f", "-", "--cluster-selector", " "},
		"a bad bundle":                       {"-f", "-", "--bundle", "A"},
		"a bad namespace":                    {"-f", "-", "-n", "a.b"},
		"a kind of two scopes at once":       {"-f", "-", "--namespaced", "A.b.c", "--cluster-scoped", "A.b.c"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, _, err := run(t, "", args...); exit.CodeOf(err) != exit.Usage || out != "" {
				t.Errorf("want exit code 2 and no output, got %d, %v, %q", exit.CodeOf(err), err, out)
			}
		})
	}
}

func TestInputIsBounded(t *testing.T) {
	if _, _, err := run(t, "", "-f", "/dev/zero"); err == nil || !strings.Contains(err.Error(), "larger than 3 MiB") {
		t.Errorf("want the limit in the error, got: %v", err)
	}
}

// folder writes these files (name to content) into a temporary folder, and returns the folder's path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const webMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"

func TestFederateReportsAllFaultsOfAFolderInOneRun(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.yaml": "kind: ConfigMap\nmetadata: {name: a}\n",
		"b.yaml": webMap + "data: [\n---\n" + webMap + "---\napiVersion: v1\nkind: Pod\nmetadata: {}\n",
		"c.yaml": "apiVersion: example.com/v1\nkind: Teapot\nmetadata: {name: betty}\n",
		"d.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: csi, namespace: kube-system}\n",
		"e.yaml": webMap,
		"f.yaml": webMap + "---\n- text\n",
	})
	out, _, err := run(t, "", "-f", dir, "--all-clusters")
	if err == nil || out != "" {
		t.Fatalf("federate returned no error, and the output %s", out)
	}
	for _, want := range []string{
		"a.yaml, document 1 (line 1), ConfigMap a: apiVersion: must be VERSION or GROUP/VERSION",
		"b.yaml, document 1 (line 1): is not valid YAML",
		"b.yaml, document 3 (line 10), Pod: metadata.name: is missing",
		"c.yaml, document 1 (line 1), Teapot betty: kind: Teapot is not known here",
		"d.yaml, document 1 (line 1), ServiceAccount csi: metadata.namespace: Fairlead federates nothing into kube-system",
		"e.yaml, document 1 (line 1), ConfigMap web: is in the input twice",
		"f.yaml, document 2 (line 5): is not a mapping with apiVersion, kind and metadata",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in:\n%v", want, err)
		}
	}
	many := strings.Repeat("kind: ConfigMap\nmetadata: {name: a}\n---\n", 60)
	if _, _, err := run(t, many, "-f", "-"); err == nil || !strings.HasSuffix(err.Error(), "\nand 10 more faults") {
		t.Errorf("an input with 60 faults: %v", err)
	}
}

func TestFilesOfAFolderWithoutAnObjectAreSkippedWithANote(t *testing.T) {
	files := map[string]string{
		"kustomization.yaml": "resources: [web.yaml]\n",
		"component.yaml":     "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
		"Chart.yaml":         "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"values.yaml":        "replicas: 3\n---\nmore: true\n",
		"package.json":       `[1, 2]`,
		"empty.yaml":         "# nothing yet\n",
		"web.yaml":           webMap,
	}
	dir := folder(t, files)
	out, notes, err := run(t, "", "-f", dir, "--all-clusters")
	if err != nil || strings.Count(out, "kind: Federated\n") != 1 {
		t.Fatalf("%v, %s", err, out)
	}
	for name, want := range map[string]string{
		"kustomization.yaml": "skipped: it is a file of kustomize; `kubectl kustomize FOLDER | hostctl federate -f -`",
		"component.yaml":     "skipped: it is a file of kustomize",
		"Chart.yaml":         "skipped: it describes a Helm chart; `helm template … | hostctl federate -f -`",
		"values.yaml":        "skipped: it holds no Kubernetes object",
		"package.json":       "skipped: it holds no Kubernetes object",
	} {
		if want = "note: " + filepath.Join(dir, name) + ": " + want; !strings.Contains(notes, want) {
			t.Errorf("want %q in:\n%s", want, notes)
		}
		if _, _, err := run(t, "", "-f", filepath.Join(dir, name), "--all-clusters"); err == nil {
			t.Errorf("%s: want an error, because -f names the file and it holds no object", name)
		}
	}
	if n := strings.Count(notes, "skipped"); n != 5 {
		t.Errorf("%d files are reported as skipped:\n%s", n, notes)
	}
}

func TestFederateWritesNoMoreThanRenderReads(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90)
	var small strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&small, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"shop"}}`+"\n", i)
	}
	nested := `{"apiVersion":"example.com/v1","kind":"Teapot","metadata":{"name":"t","namespace":"shop"},"x":[` + strings.Repeat(deep+",", 1500) + "1]}"
	for name, input := range map[string]string{"many small objects": small.String(), "one that is nested deep": nested} {
		out, _, err := run(t, input, "-f", "-", "--all-clusters", "-o", "json")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(out) > author.MaxOutput {
			t.Errorf("the error for input %s has %d bytes", name, len(out))
		}
	}
	// Indented YAML of a deeply nested input is much larger than the input: larger than hostctl render would read.
	if _, _, err := run(t, nested, "-f", "-", "--all-clusters"); err == nil || !strings.Contains(err.Error(), "hostctl render reads at most 12. Split the input") {
		t.Errorf("a deeply nested input, whose YAML is too large: %v", err)
	}
}
