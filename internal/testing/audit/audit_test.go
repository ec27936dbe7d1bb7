// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestRequestsSinceAMark(t *testing.T) {
	line := func(id string) string { return fmt.Sprintf(`{"auditID":%q,"verb":"get"}`, id) + "\n" }
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"an empty log":                      {"", line("b"), []string{"b"}},
		"a mark between two lines":          {line("a"), line("b"), []string{"b"}},
		"a mark inside a line":              {line("a")[:9], line("a")[9:] + line("b"), []string{"b"}},
		"a mark before the end of a line":   {line("a")[:len(line("a"))-1], "\n" + line("b"), []string{"b"}},
		"a mark inside an unfinished line":  {line("a")[:9], line("a")[9:15], nil},
		"a request that is logged twice":    {"", line("b") + line("b"), []string{"b"}},
		"a line that is not finished":       {line("a"), line("b") + line("c")[:9], []string{"b"}},
		"nothing was logged since the mark": {line("a"), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			write(t, path, test.before)
			mark, err := Now(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, test.before+test.after)
			requests, err := mark.Requests()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range requests {
				got = append(got, r.AuditID)
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("requests %v, want %v", got, test.want)
			}
		})
	}
}

func TestARotatedLogIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	write(t, path, "{}\n{}\n")
	mark, err := Now(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "{}\n")
	if _, err := mark.Requests(); err == nil {
		t.Error("a log that became shorter gave no error")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
