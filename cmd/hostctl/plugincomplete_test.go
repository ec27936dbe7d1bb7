// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

func TestKubectlCompletesTheWordsOfThePlugin(t *testing.T) {
	script, err := filepath.Abs("kubectl_complete-fairlead")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{pluginFile, "hostctl"} {
		dir := t.TempDir()
		stub := "#!/bin/sh\nprintf '%s|' " + program + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, program), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), script, "rollout", "")
		cmd.Env = []string{"PATH=" + dir}
		got, err := cmd.CombinedOutput()
		if want := program + "|__complete|rollout||"; err != nil || string(got) != want {
			t.Errorf("with %s on the PATH: %v, called %s, want %s", program, err, got, want)
		}
	}
}

func TestThePluginAnswersCompletions(t *testing.T) {
	for want, words := range map[string][]string{"history": {"rollout", "hist"}, "describe": {"desc"}} {
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &bytes.Buffer{}}
		root := New(streams)
		asPlugin(root)
		if code := execute(t.Context(), root, streams, append([]string{"__complete"}, words...)); code != exit.Done || !strings.HasPrefix(out.String(), want+"\t") {
			t.Errorf("%v: exit code %d: %s", words, code, out.String())
		}
	}
}
