// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

func TestExitCodes(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tests := map[string]struct {
		args []string
		want int
	}{
		"help succeeds":                            {[]string{"--help"}, exit.Done},
		"the version succeeds":                     {[]string{"--version"}, exit.Done},
		"an unknown command is a usage error":      {[]string{"sandbx"}, exit.Usage},
		"an unknown flag is a usage error":         {[]string{"sandbox", "list", "--nope"}, exit.Usage},
		"an argument too many is a usage error":    {[]string{"sandbox", "list", "x"}, exit.Usage},
		"an argument too few is a usage error":     {[]string{"sandbox", "stop"}, exit.Usage},
		"a command that fails":                     {[]string{"sandbox", "env", "--name", "nope"}, exit.Failed},
		"a wrong value of a flag is a usage error": {[]string{"sandbox", "list", "-o", "xml"}, exit.Usage},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
			if diff := cmp.Diff(tt.want, Execute(t.Context(), streams, tt.args)); diff != "" {
				t.Errorf("%s\n%s", diff, errOut.String())
			}
			if tt.want != exit.Done && !strings.HasPrefix(errOut.String(), "Error: ") {
				t.Errorf("said %q", errOut.String())
			}
		})
	}
}

func TestEachShellGetsACompletion(t *testing.T) {
	for shell, words := range map[string]string{"bash": "complete -o default", "zsh": "#compdef hostctl", "fish": "complete -c hostctl"} {
		t.Run(shell, func(t *testing.T) {
			var out, errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
			if code := Execute(t.Context(), streams, []string{"completion", shell}); code != exit.Done || errOut.Len() > 0 {
				t.Errorf("exit code %d: %s", code, errOut.String())
			}
			if !strings.Contains(out.String(), words) || !strings.Contains(out.String(), "__complete") {
				t.Errorf("no completion of %s:\n%.300s", shell, out.String())
			}
		})
	}
}

func TestHelpListsEachCommandInAGroup(t *testing.T) {
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	if code := Execute(t.Context(), streams, []string{"--help"}); code != exit.Done {
		t.Fatalf("--help exits with %d", code)
	}
	_, groups, _ := strings.Cut(out.String(), "See what is wrong, and why:")
	look, rest, _ := strings.Cut(groups, "\n\n")
	for _, name := range []string{"describe", "events", "logs", "status", "diagnose"} {
		if !strings.Contains(look, "\n  "+name+" ") {
			t.Errorf("the first group does not have %s:\n%s", name, look)
		}
	}
	for _, cmd := range New(streams).Commands() {
		if cmd.GroupID == "" && cmd.Name() != "help" && cmd.Name() != "completion" {
			t.Errorf("command %s is in no group:\n%s", cmd.Name(), rest)
		}
	}
}
