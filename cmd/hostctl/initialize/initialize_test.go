// SPDX-License-Identifier: Apache-2.0

package initialize

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/install"
)

func TestComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("replicas: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args     []string
		in       string
		wantErr  string
		wantCode int
		values   string
		wait     time.Duration
	}{
		"nothing is given":         {wait: 5 * time.Minute},
		"the namespace is given":   {args: []string{"-n", "fairlead-system"}, wait: 5 * time.Minute},
		"a file of values":         {args: []string{"--values", file, "--wait=false"}, values: "replicas: 3\n"},
		"values from a pipe":       {args: []string{"--values", "-", "--timeout", "1m"}, in: "replicas: 1", values: "replicas: 1", wait: time.Minute},
		"another namespace":        {args: []string{"-n", "federation"}, wantErr: "the host part is always in fairlead-system", wantCode: exit.Usage},
		"objects of a real run":    {args: []string{"-o", "yaml"}, wantErr: "--output works only with --dry-run", wantCode: exit.Usage},
		"an output that is none":   {args: []string{"-o", "xml", "--dry-run"}, wantErr: "give yaml or json", wantCode: exit.Usage},
		"an image that is none":    {args: []string{"--image", "r:v1+2"}, wantErr: `--image: "r:v1+2" is not an image reference: "v1+2" is not a valid image tag`, wantCode: exit.Usage},
		"no time":                  {args: []string{"--timeout", "0s"}, wantErr: "--wait=false", wantCode: exit.Usage},
		"a file that is not there": {args: []string{"--values", file + "x"}, wantErr: "reading values: open", wantCode: exit.Failed},
		"wrong values from a pipe": {args: []string{"--values", "-"}, in: "replica: 1\nlogLevel: x", wantErr: "\nstandard input: logLevel", wantCode: exit.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			o, cmd := newCommand(genericiooptions.IOStreams{In: strings.NewReader(tc.in), Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			err := o.Complete()
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || exit.CodeOf(err) != tc.wantCode {
					t.Errorf("got %d %v, want %d and %q", exit.CodeOf(err), err, tc.wantCode, tc.wantErr)
				}
				return
			}
			if err != nil || string(o.Values) != tc.values || o.Wait != tc.wait {
				t.Errorf("got %v, values %q, %s", err, o.Values, o.Wait)
			}
		})
	}
}

func TestTheObjectsArePrintedWithoutACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, tc := range []struct {
		args []string
		want []string
		said string
	}{
		{[]string{"-o", "yaml", "--image", "r.example/m:v7"}, []string{"kind: Namespace\n", "image: r.example/m:v7\n", "kind: ValidatingWebhookConfiguration\n", "name: hostctl-init\n"}, ""},
		{[]string{"-o", "json", "--values", "-"}, []string{`"kind":"List"`, `"values.yaml":"replicas: 5"`, `"replicas":5`, `"image":"registry.example.com/fairlead/manager:`}, "no registry has the image"},
	} {
		streams, in, out, said := genericiooptions.NewTestIOStreams()
		in.WriteString("replicas: 5")
		cmd := New(streams)
		cmd.SetArgs(append(tc.args, "--dry-run"))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: want %q", tc.args, want)
			}
		}
		if !strings.Contains(said.String(), tc.said) || tc.said == "" && said.Len() > 0 {
			t.Errorf("%v: said %q", tc.args, said)
		}
	}
}

// The warning is for a person who installs a version for the first time. Later it would hide what else init has to tell.
func TestTheWarningComesWithANewVersionOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		before  string
		changes int
		warns   bool
	}{
		"the first installation": {"", 20, true},
		"an upgrade":             {"v0.1.0", 3, true},
		"a repair":               {"v0.2.0", 3, false},
		"nothing to do":          {"v0.2.0", 0, false},
		"nothing to do, on a host of unknown version": {"", 0, false},
	} {
		r := install.Result{Before: tc.before, Version: "v0.2.0", Changes: tc.changes}
		if got := summary(&r, install.Options{}); strings.Contains(got, warning) != tc.warns {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

func TestSummary(t *testing.T) {
	result := install.Result{Version: "v0.2.0", Image: "r.example/m:v0.2.0", Replicas: 2, Changes: 20}
	for name, tc := range map[string]struct {
		change func(*install.Result, *install.Options)
		want   string
	}{
		"the first":              {func(*install.Result, *install.Options) {}, "Fairlead v0.2.0 is installed, in namespace fairlead-system: 2 replicas of r.example/m:v0.2.0."},
		"the warning of authors": {func(*install.Result, *install.Options) {}, "Anyone who can write wrappers can act on every member with the host's permissions."},
		"an upgrade":             {func(r *install.Result, _ *install.Options) { r.Before = "v0.1.0" }, "Fairlead is now version v0.2.0, and was version v0.1.0"},
		"nothing to do":          {func(r *install.Result, _ *install.Options) { r.Changes = 0 }, "init had nothing to write"},
		"a dry run":              {func(_ *install.Result, o *install.Options) { o.DryRun = true }, "nothing was written. 20 objects would be"},
		"no wait":                {func(*install.Result, *install.Options) {}, "init did not wait"},
	} {
		r, o := result, install.Options{}
		tc.change(&r, &o)
		if got := summary(&r, o); !strings.Contains(got, tc.want) {
			t.Errorf("%s: want %q in:\n%s", name, tc.want, got)
		}
	}
}
