// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

func TestListPrintsWhatWasAskedFor(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	list := []sandbox.ListItem{
		{
			Name: "default", Status: "member-2 Stopped", Version: "v1.36.3",
			Created: now.Add(-90 * time.Minute), Clusters: make([]sandbox.ClusterSummary, 4),
		},
		{Name: "torn", Status: "Broken", Created: now.Add(-time.Minute)},
	}
	tests := map[string]struct {
		list   []sandbox.ListItem
		format string
		want   string
	}{
		"a table": {list, "", "" +
			"NAME      CLUSTERS   STATUS             VERSION   AGE\n" +
			"default   4          member-2 Stopped   v1.36.3   90m\n" +
			"torn      0          Broken             -         60s\n"},
		"names":                  {list, "name", "default\ntorn\n"},
		"no sandbox, as JSON":    {nil, "json", "[]\n"},
		"no sandbox, as YAML":    {nil, "yaml", "[]\n"},
		"no sandbox, as names":   {nil, "name", ""},
		"no sandbox, as a table": {nil, "", "NAME   CLUSTERS   STATUS   VERSION   AGE\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printList(&out, tt.list, tt.format, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvSurvivesAnyPath(t *testing.T) {
	kubeconfig, cache, binaries := "/home/o'brien/my cache/$HOME/kubeconfig", "/home/o'brien/a cache;ls", "/home/o'brien/`id`/bin"
	script := exports(kubeconfig, cache, binaries) + `PATH=${PATH%%:/*}; printf '%s\n%s\n%s' "$KUBECONFIG" "$KUBECACHEDIR" "$PATH"`
	out, err := exec.Command("/bin/sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kubeconfig+"\n"+cache+"\n"+binaries, string(out)); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsOfSandboxNameTheCause(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tests := map[string]struct {
		args []string
		code int
		says string
	}{
		"an impossible number of members":               {[]string{"up", "--members", "-1"}, exit.Usage, "members: -1"},
		"an impossible name":                            {[]string{"up", "--name", "A/B"}, exit.Usage, "sandbox name"},
		"a version of the operator that does not exist": {[]string{"publish", "v9"}, exit.Usage, "there are v1.0.0, v1.1.0, v1.2.0"},
		"an unknown format":                             {[]string{"list", "-o", "xml"}, exit.Usage, `"xml"`},
		"a sandbox that does not exist":                 {[]string{"env", "--name", "nope"}, exit.Failed, "hostctl sandbox up --name nope"},
		"a cluster without a sandbox":                   {[]string{"stop", "--name", "nope", "member-1"}, exit.Failed, "no sandbox exists"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			cmd := New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(tt.args)
			err := cmd.ExecuteContext(t.Context())
			if diff := cmp.Diff(tt.code, exit.CodeOf(err)); diff != "" {
				t.Error(diff)
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v does not say %s", err, tt.says)
			}
			if out.Len() > 0 {
				t.Errorf("printed %s", out.String())
			}
		})
	}
}

func TestDownWithoutASandboxSucceeds(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var out, errOut bytes.Buffer
	cmd := New(genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
	cmd.SetArgs([]string{"down", "--name", "nope"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(errOut.String(), `no sandbox "nope"`) {
		t.Errorf("said %s", errOut.String())
	}
}
