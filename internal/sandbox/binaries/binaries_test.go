// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDigestNamesEverythingThatDecidesTheBuild(t *testing.T) {
	files := func(goMod string) fstest.MapFS {
		return fstest.MapFS{"module/go.mod.txt": {Data: []byte(goMod)}, "module/x/main.go.txt": {Data: []byte("package main")}}
	}
	list := []target{{"etcd", "example/etcd", "-s"}}
	relinked := []target{{"etcd", "example/etcd", "-w"}}
	base := mustDigest(t, files("module a"), "go1.26.1", list)
	tests := map[string]struct {
		got  string
		same bool
	}{
		"the same inputs give the same folder":     {mustDigest(t, files("module a"), "go1.26.1", list), true},
		"another go.mod gives another folder":      {mustDigest(t, files("module b"), "go1.26.1", list), false},
		"another Go gives another folder":          {mustDigest(t, files("module a"), "go1.26.2", list), false},
		"another linker flag gives another folder": {mustDigest(t, files("module a"), "go1.26.1", relinked), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.same, tt.got == base); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func mustDigest(t *testing.T, files fstest.MapFS, goVersion string, list []target) string {
	t.Helper()
	d, err := digest(files, goVersion, list)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestModuleIsLaidOutUnderItsTrueNames(t *testing.T) {
	dir := t.TempDir()
	if err := layOut(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum", "tools.go"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestUserEnvironmentDoesNotReachTheBuild(t *testing.T) {
	got := goEnv([]string{"HOME=/home/u", "GOFLAGS=-mod=vendor", "GOWORK=/w/go.work", "GOOS=plan9", "GOPROXY=https://proxy.example"})
	want := []string{"HOME=/home/u", "GOPROXY=https://proxy.example",
		"GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0", "GO111MODULE=on"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLinkFollowsThePrograms(t *testing.T) {
	cache, assets := t.TempDir(), t.TempDir()
	program(t, filepath.Join(assets, Etcd))
	program(t, filepath.Join(cache, Kubectl))
	set := Programs{Dir: cache, Path: map[string]string{Etcd: filepath.Join(assets, Etcd)}}
	var missing []string
	for _, m := range set.takeBuilt(targetsOf([]string{Kubectl, Kwok})) {
		missing = append(missing, m.name)
	}
	if diff := cmp.Diff([]string{Kwok}, missing); diff != "" {
		t.Errorf("missing: %s", diff)
	}
	bin := filepath.Join(t.TempDir(), "bin")
	for range 2 { // the second time the links exist already
		if err := set.Link(bin); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, name := range []string{Etcd, Kubectl} {
		got[name], _ = os.Readlink(filepath.Join(bin, name))
	}
	want := map[string]string{Etcd: filepath.Join(assets, Etcd), Kubectl: filepath.Join(cache, Kubectl)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryProgramIsInOneOfTheTwoGroups(t *testing.T) {
	if diff := cmp.Diff(targets(), targetsOf(append(ControlPlane(), OLMPrograms()...)), cmp.AllowUnexported(target{})); diff != "" {
		t.Error(diff)
	}
}

func TestVersionsAreThoseOfTheModule(t *testing.T) {
	content, err := module.ReadFile("module/go.mod.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"k8s.io/kubernetes " + KubernetesVersion, "go.etcd.io/etcd/server/v3 " + etcdVersion} {
		if !strings.Contains(string(content), "\t"+line+"\n") {
			t.Errorf("go.mod.txt does not require %s", line)
		}
	}
}

func TestPruneKeepsWhatIsUsed(t *testing.T) {
	cache, now := t.TempDir(), time.Now()
	age := map[string]time.Duration{"running": 2 * time.Hour, "recent": time.Minute, "old": 2 * time.Hour}
	for name, old := range age {
		dir := filepath.Join(cache, "control-planes", name)
		program(t, filepath.Join(dir, Etcd))
		if err := os.Chtimes(dir, now.Add(-old), now.Add(-old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prune(cache, []string{filepath.Join(cache, "control-planes", "running")}, now); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(cache, "control-planes"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff([]string{"recent", "running"}, got); diff != "" {
		t.Error(diff)
	}
}

func program(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
