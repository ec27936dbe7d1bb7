// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"strings"
	"testing"
)

func TestTheBordersOfPiecesChangeTheDigest(t *testing.T) {
	seen := map[string]bool{}
	all := [][][]byte{nil, {nil}, {nil, nil}, {[]byte("ab")}, {[]byte("a"), []byte("b")}, {[]byte("ab"), nil}, {nil, []byte("ab")}}
	for _, pieces := range all {
		seen[Of(pieces...)] = true
	}
	if len(seen) != len(all) {
		t.Errorf("%d digests of %d different lists", len(seen), len(all))
	}
	if got := Of([]byte("a")); got != Of([]byte("a")) || !strings.HasPrefix(got, "sha256:") {
		t.Errorf("%s", got)
	}
}
