// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files in testdata again")

// Equal fails the test if text differs from the file testdata/NAME of the tested package. With -update it writes the file first.
func Equal(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("reading the golden file (go test -update writes it): %v", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("the output differs from %s (-want +got); go test -update writes the file again:\n%s", path, diff)
	}
}
