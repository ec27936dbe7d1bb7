// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

var update = flag.Bool("update", false, "write testdata/mistakes/*/answers.txt anew")

// Each line of an error begins with the file, the document and the object. The field follows.
func TestEveryMistakeIsAnsweredWithFileObjectAndField(t *testing.T) {
	for command, args := range map[string][]string{
		"render":   {"render", "--assume-cluster", "eu-1,cloud=aws", "-f"},
		"federate": {"federate", "-n", "shop", "--all-clusters", "-f"},
		"init":     {"init", "--values"},
	} {
		where := ", document "
		if command == "init" { // a file of values has no documents
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
					t.Errorf("%s: exit code %d, stdout: %s", file, code, out.String())
				}
				for line := range strings.Lines(strings.TrimPrefix(errOut.String(), "Error: ")) {
					if !strings.Contains(line, file+where) {
						t.Errorf("%s: a line without file and document: %s", file, line)
					}
				}
				answers.WriteString(strings.ReplaceAll(errOut.String(), folder+string(filepath.Separator), "") + "\n")
			}
			path := filepath.Join(folder, "answers.txt")
			if *update {
				if err := os.WriteFile(path, []byte(answers.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), answers.String()); diff != "" {
				t.Errorf("(-want +got), go test -update writes it anew:\n%s", diff)
			}
		})
	}
}
