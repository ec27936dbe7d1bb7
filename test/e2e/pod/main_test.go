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
		t.Errorf("the second start has %s, %v, and the first had %s", again, err, first)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keep(path); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("data that changed is taken: %v", err)
	}
}

func TestCommandsEndWithTheirExitCode(t *testing.T) {
	if err := run([]string{"done"}); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"crash"}, {"keep"}, {"nonsense"}, nil} {
		if run(args) == nil {
			t.Errorf("%q ends well", args)
		}
	}
}
