// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

func TestPluginIsKnownByTheNameOfItsFile(t *testing.T) {
	tests := map[string]bool{
		"kubectl-fairlead":                         true,
		"/home/u/.krew/bin/kubectl-fairlead":       true,
		"kubectl-fairlead.exe":                     true,
		"bin/hostctl":                              false,
		"/opt/kubectl-fairlead/hostctl":            false,
		"/usr/local/bin/kubectl_complete-fairlead": false,
	}
	for program, want := range tests {
		if isPlugin(program) != want {
			t.Errorf("%s: %v", program, !want)
		}
	}
}

func TestUsageOfThePluginNamesTheCommandThatUsersType(t *testing.T) {
	root := New(genericiooptions.NewTestIOStreamsDiscard())
	asPlugin(root)
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		usage := cmd.Short + "\n" + cmd.Long + "\n" + cmd.UsageString()
		if strings.Contains(usage, "hostctl ") {
			t.Errorf("as a kubectl plugin, the help of %s must not name hostctl:\n%s", cmd.CommandPath(), regexp.MustCompile(`.*hostctl .*`).FindString(usage))
		}
		if !strings.HasPrefix(cmd.CommandPath(), pluginCommand) {
			t.Errorf("as a kubectl plugin, command %s has the path %s", cmd.Name(), cmd.CommandPath())
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)

	tests := map[string]string{
		"hostctl join NAME":              "kubectl fairlead join NAME",
		"run `hostctl`":                  "run `kubectl fairlead`",
		"beside bin/hostctl, or hostctl": "beside bin/hostctl, or kubectl fairlead",
		"the field manager hostctl-join": "the field manager hostctl-join",
	}
	for text, want := range tests {
		cmd := &cobra.Command{Use: "x", Long: text}
		asPlugin(cmd)
		if diff := cmp.Diff(want, cmd.Long); diff != "" {
			t.Error(diff)
		}
	}
}

func TestErrorsOfThePluginNameThePlugin(t *testing.T) {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	root := New(streams)
	asPlugin(root)
	if code := execute(t.Context(), root, streams, []string{"join"}); code != exit.Usage || !strings.Contains(errOut.String(), "See `kubectl fairlead join --help`") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
	root = New(streams)
	asPlugin(root)
	if code := execute(t.Context(), root, streams, []string{"--version"}); code != exit.Done || !strings.HasPrefix(out.String(), "kubectl fairlead v") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
