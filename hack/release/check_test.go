// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheVersionOfARelease(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "", "v1.2.3-rc.1": "",
		"":              "VERSION is not given",
		"0.1.0":         "VERSION=0.1.0 is not a version of a release",
		"v1":            "is not a version of a release",
		"v1.2":          "is not a version of a release",
		"v1.2.3+build":  "Image tags allow no +",
		"v01.2.3":       "is not a version of a release",
		"v1.2.3/../../": "is not a version of a release",
	} {
		err := checkVersion(version)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", version, err, want)
		}
	}
}

func TestADirtyTreeIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a", "--date=@1"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=@1700000000 +0000")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v %s", args, err, said)
		}
	}
	tree, err := readTree(t.Context())
	if err != nil || tree.time.Unix() != 1_700_000_000 || len(tree.commit) != 40 {
		t.Errorf("%+v %v", tree, err)
	}
	if err := os.WriteFile("new.go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readTree(t.Context()); err == nil || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("got %v, want an error that names new.go", err)
	}
}

func TestAFolderWithOtherFilesIsRefused(t *testing.T) {
	dir := t.TempDir()
	wanted := (&release{version: "v0.1.0"}).files()
	for _, name := range []string{"SHA256SUMS", "fairlead-0.1.0.tgz", filepath.Join(stagingFolder, "old")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkFolder(filepath.Join(dir, "new"), wanted); err != nil {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if err := checkFolder(dir, wanted); err != nil {
		t.Errorf("a folder of the same release: %v", err)
	}
	staging, err := emptyStaging(dir)
	if left, _ := filepath.Glob(filepath.Join(staging, "*")); err != nil || len(left) > 0 {
		t.Errorf("the staging folder has files of an interrupted release: %v %v", left, err)
	}
	for _, other := range []string{"SHA256SUMS.sig", "fairlead-0.0.9.tgz"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := checkFolder(dir, wanted); err == nil || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), "OUT=DIR") {
			t.Errorf("got %v, want an error that names %s", err, other)
		}
	}
}
