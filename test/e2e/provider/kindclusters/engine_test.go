// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kinderrors "sigs.k8s.io/kind/pkg/errors"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// fakeDocker puts on PATH a command named docker that runs these lines of shell. If lines is empty, no docker is on PATH.
func fakeDocker(t *testing.T, lines string) {
	t.Helper()
	dir := t.TempDir()
	if lines != "" {
		if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestPreflightNamesTheFaultAndTheRemedy(t *testing.T) {
	const answers = `case "$1" in version) echo 20.10;; info) echo 99999999999;; image) exit 0;; esac`
	const enough = "1024 524288"
	tests := map[string]struct {
		docker   string
		nodes    int
		inotify  string // instances and watches
		noEngine bool
		words    []string
	}{
		"no docker":                     {"", 1, enough, true, []string{"docker is not on PATH", "make kind-node"}},
		"an engine that is not started": {`echo "Is the docker daemon running?" >&2; exit 1`, 1, enough, true, []string{"docker daemon", "systemctl start docker"}},
		"too little memory":             {answers, 1 << 20, enough, false, []string{"of memory", "MiB are free"}},
		"too few instances of inotify":  {answers, 1, "128\n 524288", false, []string{"fs.inotify.max_user_instances is 128", "sysctl fs.inotify.max_user_instances=1024"}},
		"too few watches of inotify":    {answers, 1, "1024 8192\n", false, []string{"fs.inotify.max_user_watches is 8192", "sysctl fs.inotify.max_user_watches=524288"}},
		"no node image": {`case "$1" in version) echo 20.10;; *) echo "no route to registry" >&2; exit 1;; esac`, 1, enough, false,
			[]string{"kindest/node:nowhere", "make kind-node", "KIND_NODE_IMAGE", "no route to registry"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limits, values := t.TempDir(), strings.Fields(tt.inotify)
			for i, name := range []string{"max_user_instances", "max_user_watches"} {
				if err := os.WriteFile(filepath.Join(limits, name), []byte(values[i]+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			fakeDocker(t, tt.docker)
			err := preflight(t.Context(), []string{"kindest/node:nowhere"}, tt.nodes, limits)
			if err == nil {
				t.Fatal("preflight accepted the machine")
			}
			if errors.Is(err, errNoEngine) != tt.noEngine {
				t.Errorf("whether the cause is errNoEngine is wrong in: %v", err)
			}
			for _, word := range tt.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in: %v", word, err)
				}
			}
		})
	}
}

func TestClustersOfTheseNamesMayBeTheUsers(t *testing.T) {
	l := layout{name: "fairlead-e2e"}
	all := []string{"mine", "fairlead-e2e-member-1", "fairlead-e2e-host", "fairlead-e2e-other"}
	ours, err := l.existing(all, true)
	if err != nil || !slices.Equal(ours, []string{"fairlead-e2e-host", "fairlead-e2e-member-1"}) {
		t.Errorf("got %v, %v", ours, err)
	}
	if _, err := l.existing(all, false); err == nil || !strings.Contains(err.Error(), "KEEP=1, or delete them with: kind delete clusters fairlead-e2e-host fairlead-e2e-member-1") {
		t.Error(err)
	}
	if ours, err := l.existing([]string{"mine"}, false); err != nil || len(ours) > 0 {
		t.Errorf("got %v, %v", ours, err)
	}
}

func TestTheNameOfAnImageIsReadFromItsArchive(t *testing.T) {
	write := func(manifest string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "image.tar")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		w := tar.NewWriter(file)
		for name, content := range map[string]string{"layer.tar": "x", "manifest.json": manifest} {
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got, err := imageOf(write(`[{"RepoTags":["fairlead/manager:v1"]}]`))
	if err != nil || got != "fairlead/manager:v1" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{`[]`, `nonsense`, `[{"RepoTags":["a:1","b:1"]}]`} {
		if got, err := imageOf(write(bad)); err == nil {
			t.Errorf("the archive with manifest %s has image %q, want an error", bad, got)
		}
	}
}

func TestMembersAreJoinedAtTheNameOfTheirContainer(t *testing.T) {
	c := &Clusters{layout: layout{name: "fairlead-e2e"}}
	first, second := strings.Join(c.JoinArgs(1, "member-1"), " "), strings.Join(c.JoinArgs(2, "member-2"), " ")
	if !strings.Contains(first, "--server https://fairlead-e2e-member-1-control-plane:6443") || strings.Contains(first, "--allow") {
		t.Error(first)
	}
	if !strings.Contains(second, "--allow any --namespaces All") || !strings.Contains(second, "cloud=gcp") {
		t.Error(second)
	}
}

func TestAnErrorOfKindHasTheWordsOfTheCommandThatFailed(t *testing.T) {
	plain := errors.New("no nodes")
	ran := &kindexec.RunError{Command: []string{"docker", "run", "node"}, Output: []byte("port is already allocated\n"), Inner: errors.New("exit status 125")}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"a command":                {ran, "exit status 125: port is already allocated"},
		"a command inside a step":  {kinderrors.Wrap(ran, "creating nodes"), "port is already allocated"},
		"a command without output": {&kindexec.RunError{Command: []string{"docker"}, Inner: errors.New("exit status 1")}, "exit status 1"},
		"no command":               {plain, "no nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := withOutput(test.err)
			if !errors.Is(got, test.err) || !strings.HasSuffix(got.Error(), test.want) {
				t.Errorf("%v", got)
			}
		})
	}
	if withOutput(nil) != nil {
		t.Error("withOutput(nil) must return nil")
	}
}
