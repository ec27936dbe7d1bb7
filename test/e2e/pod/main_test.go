// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeptDataIsTheSameOrAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	first, err := keep(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := keep(path); err != nil || again != first {
		t.Errorf("the second call of keep returned %s, %v, and the first %s", again, err, first)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keep(path); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("keep accepted data that was changed in the file: %v", err)
	}
}

func TestCommandsEndWithTheirExitCode(t *testing.T) {
	if err := run([]string{"done"}); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"crash"}, {"keep"}, {"nonsense"}, nil} {
		if run(args) == nil {
			t.Errorf("run(%q) returned no error", args)
		}
	}
}
