// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// Each line of an error has to begin with the file, the document and the object, and to name the field after that.
func TestEveryMistakeIsAnsweredWithFileObjectAndField(t *testing.T) {
	for command, args := range map[string][]string{
		"render":   {"render", "--assume-cluster", "eu-1,cloud=aws", "-f"},
		"federate": {"federate", "-n", "shop", "--all-clusters", "-f"},
		"init":     {"init", "--values"},
	} {
		where := ", document "
		if command == "init" { // the file of values has no documents
			where = ": "
		}
		t.Run(command, func(t *testing.T) {
			t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
			folder := filepath.Join("testdata", "mistakes", command)
			files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no mistakes in %s (%v)", folder, err)
			}
			var answers strings.Builder
			for _, file := range files {
				var out, errOut bytes.Buffer
				streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
				if code := Execute(t.Context(), streams, append(args, file)); code != exit.Failed || out.Len() > 0 {
					t.Errorf("file %s gives exit code %d and stdout: %s", file, code, out.String())
				}
				for line := range strings.Lines(strings.TrimPrefix(errOut.String(), "Error: ")) {
					if !strings.Contains(line, file+where) {
						t.Errorf("file %s gives an error line that does not name file and document: %s", file, line)
					}
				}
				answers.WriteString(strings.ReplaceAll(errOut.String(), folder+string(filepath.Separator), "") + "\n")
			}
			golden.Equal(t, filepath.Join("mistakes", command, "answers.txt"), answers.String())
		})
	}
}
