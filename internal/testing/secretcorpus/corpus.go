// SPDX-License-Identifier: Apache-2.0

package secretcorpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Word is part of every secret in the corpus.
const Word = "CANARY"

// file is the corpus, relative to the root of the repository.
const file = "federate/redact/testdata/secrets.txt"

// Lines returns the lines of the corpus. A line with \n is returned once more, with line ends.
func Lines(t testing.TB) []string {
	t.Helper()
	return lines(t, false)
}

// InSentences returns the lines whose secrets redaction also finds behind other words of the same line.
func InSentences(t testing.TB) []string {
	t.Helper()
	return lines(t, true)
}

func lines(t testing.TB, inSentences bool) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(content)) {
		if title, isTitle := strings.CutPrefix(line, "# "); isTitle {
			if inSentences && strings.HasPrefix(title, "weak") {
				break // the last section
			}
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		all = append(all, line)
		if strings.Contains(line, `\n`) {
			all = append(all, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	if len(all) < 100 {
		t.Fatalf("the corpus has %d lines", len(all))
	}
	return all
}

// root returns the root of the repository: a test runs in the folder of its package.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no folder above the test has a go.mod")
	return ""
}
