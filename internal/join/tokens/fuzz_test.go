// SPDX-License-Identifier: Apache-2.0

package tokens

import "testing"

// A token comes from a member, which the host does not trust, or from a Secret that users can write.
func FuzzToken(f *testing.F) {
	f.Add("a.eyJpYXQiOjEsImV4cCI6Mn0.b")
	f.Add("..")
	f.Add("a.bm90IGpzb24.b")
	f.Fuzz(func(t *testing.T, token string) {
		read, err := Read(token)
		if err == nil && read.Expires.Before(read.issued) {
			t.Errorf("it expires at %s before it is issued at %s", read.Expires, read.issued)
		}
	})
}
