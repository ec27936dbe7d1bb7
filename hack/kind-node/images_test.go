// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestAPackageWithTheFolderBinDoesNotReplaceTheLink(t *testing.T) {
	for _, program := range []string{"dpkg-deb", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not on PATH", program)
		}
	}
	source, base := t.TempDir(), t.TempDir()
	for file, content := range map[string]string{
		"DEBIAN/control": "Package: busybox-static\nVersion: 1\nArchitecture: all\nMaintainer: Nobody <nobody@example.com>\nDescription: a test\n",
		"bin/busybox":    "a program",
	} {
		path := filepath.Join(source, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(source, 0o755); err != nil {
		t.Fatal(err)
	}
	deb := filepath.Join(t.TempDir(), "busybox-static_1_all.deb")
	if _, err := command(t.Context(), "dpkg-deb", "--root-owner-group", "--build", source, deb); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(base, "usr/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usr/bin", filepath.Join(base, "bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("busybox", filepath.Join(base, "usr/bin/sh")); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.Context(), deb, base); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(base, "bin/sh")); err != nil || string(content) != "a program" {
		t.Errorf("/bin/sh must still be the program behind the link: %q, %v", content, err)
	}
}
