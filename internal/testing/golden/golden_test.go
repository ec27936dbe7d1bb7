// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that only records that it failed.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { r.failed = fmt.Sprintf(format, a...) }

func TestAFileIsComparedAndWrittenOnlyWithUpdate(t *testing.T) {
	t.Chdir(t.TempDir())
	*update = true
	Equal(t, "folder/out.txt", "one\n")
	*update = false
	Equal(t, "folder/out.txt", "one\n")

	r := &recorder{TB: t}
	Equal(r, "folder/out.txt", "two\n")
	if !strings.Contains(r.failed, filepath.Join("testdata", "folder", "out.txt")) {
		t.Errorf("another text than that of the file gives %q", r.failed)
	}
	if content, err := os.ReadFile("testdata/folder/out.txt"); err != nil || string(content) != "one\n" {
		t.Errorf("without -update the file has become %q, %v", content, err)
	}
}
