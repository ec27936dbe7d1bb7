// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPodsUIDIsAUID(t *testing.T) {
	for uid, good := range map[string]bool{
		"3f1c2f0e-5c1f-4b7a-9a55-0a4f0f6b2c11":  true,
		"0123456789abcdef0123456789abcdef":      false, // the uid of a static pod; a static pod on another node can have the same uid
		"":                                      false,
		"$(POD_UID)":                            false, // a kubelet leaves this if the variable is not set
		"3f1c2f0e-5c1f-4b7a-9a55-0a4f0f6b2c11_": false,
		"manager-0":                             false,
	} {
		p, err := OfPod(uid)
		if (err == nil) != good || good != p.covers(p.identity("host", "before")) {
			t.Errorf("%q: %v", uid, err)
		}
		if err != nil && !strings.Contains(err.Error(), "metadata.uid") {
			t.Errorf("%q: the message names no remedy: %v", uid, err)
		}
	}
}

func TestALockFileProvesThatNoOtherProcessHoldsIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "manager.lock")
	first, err := OfLockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OfLockFile(path); err == nil || !strings.Contains(err.Error(), "another process holds the lock") {
		t.Errorf("a second process got the proof: %v", err)
	}
	if err := first.lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := OfLockFile(path)
	if err != nil || !again.covers(first.identity("host", "before")) {
		t.Errorf("the same file proves nothing: %v, %s and %s", err, first, again)
	}
	// A copy of the lock file must give another proof. For example, a machine image can contain such a copy.
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(dir, "copy.lock")
	if err := os.WriteFile(beside, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if other, err := OfLockFile(beside); err != nil || other.covers(first.identity("host", "before")) {
		t.Errorf("a copy proves something: %v", err)
	}
}

func TestALockFileThatCannotBeLockedIsNoProof(t *testing.T) {
	for name, path := range map[string]string{
		"a folder":                     t.TempDir(),
		"below a file":                 filepath.Join(os.Args[0], "manager.lock"),
		"a file that cannot be opened": "/proc/self/manager.lock",
	} {
		if p, err := OfLockFile(path); err == nil || p.value != "" || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}
