// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fit is a machine on which check finds no fault.
var fit = machine{system: "debian 12", memory: 8 * gibi, disk: 20 * gibi, cgroup: 2, capSysResource: true}

func TestAMachineThatCannotBuildTheImageIsToldEveryReason(t *testing.T) {
	tests := map[string]struct {
		change func(*machine)
		words  []string
	}{
		"a machine that meets all requirements": {func(*machine) {}, nil},
		"cgroup v1":                             {func(m *machine) { m.cgroup = 1 }, nil},
		"another user":                          {func(m *machine) { m.uid = 1000 }, []string{"root"}},
		"another system":                        {func(m *machine) { m.system = "ubuntu 24.04" }, []string{"Debian 12", "ubuntu 24.04"}},
		"little memory":                         {func(m *machine) { m.memory = 1 * gibi }, []string{"3072 MiB of free memory", "1024 MiB are free"}},
		"a full disk":                           {func(m *machine) { m.disk = 2 * gibi }, []string{"8192 MiB of free disk space", "2048 MiB are free"}},
		"no cgroups":                            {func(m *machine) { m.cgroup = 0 }, []string{"neither cgroup v1 nor v2"}},
		"all at once": {func(m *machine) { *m = machine{uid: 1, system: "macos"} },
			[]string{"root", "Debian 12", "free memory", "free disk space", "cgroup"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := fit
			tt.change(&m)
			err := m.check()
			if (err == nil) != (tt.words == nil) {
				t.Fatalf("got %v", err)
			}
			for _, word := range tt.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in: %v", word, err)
				}
			}
		})
	}
}

func TestFilesOfTheMachineAreRead(t *testing.T) {
	if got := systemOf("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n"); got != "debian 12" {
		t.Errorf("system: %q", got)
	}
	if got, err := availableMemory("MemTotal: 24000000 kB\nMemAvailable:   2097152 kB\n"); err != nil || got != 2*gibi {
		t.Errorf("memory: %d, %v", got, err)
	}
	if _, err := availableMemory("MemTotal: 24000000 kB\n"); err == nil {
		t.Error("a meminfo without MemAvailable must be an error")
	}
	if mayUse("CapBnd:\t000001fffeffffff\n", 24) {
		t.Error("mayUse found CAP_SYS_RESOURCE in a set without it")
	}
	if !mayUse("CapBnd:\t000001ffffffffff\n", 24) {
		t.Error("mayUse did not find CAP_SYS_RESOURCE in a set with it")
	}
}

func TestLimitsOfInotifyAreRaisedAndNeverLowered(t *testing.T) {
	for name, tt := range map[string]struct{ was, want, told, refused string }{
		"too few instances": {"128 524288", "1024 524288", "• raised fs.inotify.max_user_instances of this machine: 128 → 1024, until its next start\n", ""},
		"too few watches":   {"4096 8192", "4096 524288", "• raised fs.inotify.max_user_watches of this machine: 8192 → 524288, until its next start\n", ""},
		"enough of both":    {"4096 1048576", "4096 1048576", "", ""},
		"a limit that cannot be read": {"128", "1024", "• raised fs.inotify.max_user_instances of this machine: 128 → 1024, until its next start\n",
			"kind needs fs.inotify.max_user_watches of 524288, and it cannot be raised here"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := func(i int) string { return filepath.Join(dir, inotifyLimits[i].name) }
			for i, value := range strings.Fields(tt.was) {
				if err := os.WriteFile(path(i), []byte(value+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var told strings.Builder
			err := raiseInotify(dir, &told)
			if (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("error: %v", err)
			}
			if told.String() != tt.told {
				t.Errorf("told %q, want %q", told.String(), tt.told)
			}
			for i, want := range strings.Fields(tt.want) {
				if got, _ := os.ReadFile(path(i)); strings.TrimSpace(string(got)) != want {
					t.Errorf("%s is %q, want %s", path(i), got, want)
				}
			}
		})
	}
}

func TestVersionsOfTheControlPlanesAreThoseOfTheSandbox(t *testing.T) {
	goMod, err := os.ReadFile(filepath.Join("../..", controlPlanesModule, "go.mod.txt"))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := os.ReadFile("../../internal/sandbox/binaries/targets.go")
	if err != nil {
		t.Fatal(err)
	}
	kubernetes := required(string(goMod), "k8s.io/kubernetes")
	if !strings.Contains(string(targets), `KubernetesVersion = "`+kubernetes+`"`) {
		t.Errorf("the module pins Kubernetes %s, and the sandbox another version", kubernetes)
	}
	if required(string(goMod), "go.etcd.io/etcd/server/v3") == "" {
		t.Error("the module pins no etcd")
	}
	if got := required("require (\n\tk8s.io/kubernetes-extra v1.0.0\n)\n", "k8s.io/kubernetes"); got != "" {
		t.Errorf("required returned the version of another module: %s", got)
	}
}

func TestConstantsAreReadAsTheCompilerSeesThem(t *testing.T) {
	dir := t.TempDir()
	source := "package p\n\nconst image = \"kindest/net:v1\"\n\nconst (\n\tmanifest = `a: ` + image + `\nb: 1`\n\tnumber = 1\n)\n"
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readConstants(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got["manifest"] != "a: kindest/net:v1\nb: 1" || got["image"] != "kindest/net:v1" {
		t.Errorf("got %q", got)
	}
	if _, found := got["number"]; found {
		t.Error("readConstants returned a constant that is not a string")
	}
}

func TestABuiltProgramIsNamedByItsInputs(t *testing.T) {
	b := programs{work: "/w", versions: versions{kubernetes: "v1.36.3", etcd: "v3.6.8"}}
	newer := programs{work: "/w", versions: versions{kubernetes: "v1.36.4", etcd: "v3.6.8"}}
	if b.path("kubelet") == newer.path("kubelet") {
		t.Error("another Kubernetes gives the same path")
	}
	if b.path("runc") != newer.path("runc") {
		t.Error("the path of runc must not depend on the version of Kubernetes")
	}
	seen := map[string]bool{}
	for _, p := range b.all() {
		if seen[b.bin(p)] {
			t.Errorf("two programs have the path %s", b.bin(p))
		}
		seen[b.bin(p)] = true
	}
}

func TestAModuleForAnotherKubernetesRequiresItsPublishedLibraries(t *testing.T) {
	got := moduleOf(`module k8s.io/kubernetes
require k8s.io/api v0.0.0
replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubelet => ./staging/src/k8s.io/kubelet
	example.com/other => example.com/fork v1.0.0
)
replace k8s.io/metrics => ./staging/src/k8s.io/metrics
`, "v1.35.4")
	for _, line := range []string{"require k8s.io/kubernetes v1.35.4", "require k8s.io/api v0.35.4", "require k8s.io/kubelet v0.35.4", "require k8s.io/metrics v0.35.4"} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("%q is not in:\n%s", line, got)
		}
	}
	if strings.Contains(got, "example.com") || strings.Count(got, "require") != 4 {
		t.Errorf("the module requires something else:\n%s", got)
	}
}

func TestOnlyReleasesOfKubernetesAreTaken(t *testing.T) {
	for _, version := range []string{"1.35.4", "v1.35", "v1.35.4-rc.0", "v2.0.0", "latest"} {
		_, err := readVersions(t.Context(), "../..", version)
		if err == nil || !strings.Contains(err.Error(), version) || !strings.Contains(err.Error(), "give a version like v1.") {
			t.Errorf("%s: %v", version, err)
		}
	}
}
