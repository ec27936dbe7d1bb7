// SPDX-License-Identifier: Apache-2.0

package federate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

const samples = "../../../config/samples"

// run is the command as a user has it.
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

func TestTheSampleIsWhatFederateWritesAndItsOverrides(t *testing.T) {
	out, notes, err := run(t, "", "-f", filepath.Join(samples, "plain/shop"), "--bundle", "shop", "--all-clusters")
	if err != nil || notes != "" {
		t.Fatalf("%v, notes: %s", err, notes)
	}
	sample := readFile(t, filepath.Join(samples, "shop.yaml"))
	if !strings.Contains(sample, out) {
		t.Errorf("shop.yaml does not hold what federate writes:\n%s", cmp.Diff(sample, out))
	}
	got := decode(t, out)
	patch := decode(t, readFile(t, filepath.Join(samples, "plain/shop-overrides.yaml")))
	got["spec"].(map[string]any)["overrides"] = patch["spec"].(map[string]any)["overrides"]
	if diff := cmp.Diff(decode(t, sample), got); diff != "" {
		t.Errorf("shop.yaml is not the two together (-shop.yaml +together):\n%s", diff)
	}
}

func TestPlacementComesFromFlags(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
	for name, tc := range map[string]struct {
		args []string
		want string
		note string
	}{
		"none": {nil, "    clusters: {}\n", "placeholder, which the host refuses"},
		"all":  {[]string{"--all-clusters"}, "      selectors:\n      - {}\n", ""},
		"names": {[]string{"--clusters", "b,a", "--clusters", "b"},
			"    clusters:\n      names:\n      - b\n      - a\n", ""},
		"labels, one of which is enough": {[]string{"--cluster-selector", "env=prod", "--cluster-selector", "!edge"},
			"      selectors:\n      - matchLabels:\n          env: prod\n" +
				"      - matchExpressions:\n        - key: edge\n          operator: DoesNotExist\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, notes, err := run(t, object, append(tc.args, "-f", "-", "-n", "shop")...)
			if err != nil || !strings.HasSuffix(out, tc.want) {
				t.Errorf("%v: want it to end in:\n%s\ngot:\n%s", err, tc.want, out)
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
		"alone":            {nil, 1},
		"with its folders": {[]string{"-R"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := run(t, "", append(tc.args, "-f", dir, "--all-clusters")...)
			if got := strings.Count(out, "kind: Federated\n"); err != nil || got != tc.want {
				t.Errorf("%v: want %d wrappers, got:\n%s", err, tc.want, out)
			}
		})
	}
	if _, _, err := run(t, "", "-f", filepath.Join(dir, "deeper", "..", "nowhere")); err == nil {
		t.Error("a file that is not there was to be an error")
	}
	empty := t.TempDir()
	if _, _, err := run(t, "", "-f", empty); err == nil || !strings.Contains(err.Error(), "no .yaml, .yml or .json file") {
		t.Errorf("an empty folder was to be an error, got: %v", err)
	}
}

func TestWrongUseIsUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"no file":                      {},
		"an unknown output":            {"-f", "-", "-o", "table"},
		"all and some":                 {"-f", "-", "--all-clusters", "--clusters", "a"},
		"a bad name":                   {"-f", "-", "--clusters", "A_B"},
		"a bad selector":               {"-f", "-", "--cluster-selector", "a=b=c"},
		"an empty selector":            {"-f", "-", "--cluster-selector", " "},
		"a bad bundle":                 {"-f", "-", "--bundle", "A"},
		"a bad namespace":              {"-f", "-", "-n", "a.b"},
		"a kind of two scopes at once": {"-f", "-", "--namespaced", "A.b.c", "--cluster-scoped", "A.b.c"},
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
		t.Errorf("want the limit told, got: %v", err)
	}
}
