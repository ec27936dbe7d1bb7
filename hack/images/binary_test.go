// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestABinaryNeedsAllItsFlags(t *testing.T) {
	err := run(t.Context(), []string{"binary", "-program", "hostctl", "-os", "linux"}, nil)
	if err == nil || !strings.Contains(err.Error(), "make release") {
		t.Errorf("got %v, want an error that names make release", err)
	}
}
