// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// answering writes a program that prints text if it is called with args, and fails if it is called with other arguments.
func answering(t *testing.T, path, args, text string) {
	t.Helper()
	program(t, path)
	script := "#!/bin/sh\n[ \"$*\" = '" + args + "' ] || exit 64\ncat <<'EOT'\n" + text + "\nEOT\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestSuppliedProgramsAreUsedOrTheReasonIsNamed(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	answering(t, in(Etcd), "--version", "etcd Version: 3.6.4\nGit SHA: 1234567")
	answering(t, in(APIServer), "--version", "Kubernetes v1.36.1")
	answering(t, in(ControllerManager), "--version", "Kubernetes v1.35.3")
	answering(t, in(Kubectl), "version --client", "Client Version: v1.36.0-rc.1+5e8\nKustomize Version: v5.7.1")
	answering(t, in(Kwok), "--version", "kwok version v0.7.0") // the sandbox always builds this program
	// An ELF header for a processor on which Linux does not run.
	foreign := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...)
	foreign[16], foreign[18] = 2, 0xfe
	if err := os.WriteFile(in(Scheduler), foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	set := Programs{Path: map[string]string{}}
	others := set.takeSupplied(t.Context(), source{dir, "the folder"}, targetsOf(ControlPlane()), progress.New(&out))
	if diff := cmp.Diff("kube-controller-manager, kube-scheduler, kwok", namesOf(others)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{Etcd: in(Etcd), APIServer: in(APIServer), Kubectl: in(Kubectl)}, set.Path); diff != "" {
		t.Error(diff)
	}
	want := `• not using kube-controller-manager of the folder: it is v1.35.3, and the sandbox needs v1.36
• not using kube-scheduler of the folder: it is not a program for this machine, ` + runtime.GOOS + "/" + runtime.GOARCH + `
• using etcd v3.6.4, kube-apiserver v1.36.1, kubectl v1.36.0-rc.1+5e8 of the folder
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSuppliedProgramThatCannotBeUsed(t *testing.T) {
	tests := map[string]struct {
		prepare func(path string) error
		want    string
	}{
		"a newer minor version": {func(path string) error { return script(path, "echo Kubernetes v1.37.0") },
			"it is v1.37.0, and the sandbox needs v1.36"},
		"no version":  {func(path string) error { return script(path, "echo hello") }, `asked for its version, it printed "hello"`},
		"no answer":   {func(path string) error { return script(path, "exit 3") }, "asking for its version: exit status 3"},
		"a folder":    {func(path string) error { return os.Mkdir(path, 0o755) }, "it is not an executable file"},
		"a text file": {func(path string) error { return os.WriteFile(path, nil, 0o644) }, "it is not an executable file"},
		"an empty file, as an interrupted download leaves it": {func(path string) error { return os.WriteFile(path, nil, 0o755) },
			"it is not a program for this machine"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.prepare(filepath.Join(dir, APIServer)); err != nil {
				t.Fatal(err)
			}
			path, _, err := suppliedPath(t.Context(), dir, APIServer)
			if path != "" || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("suppliedPath returned path %q and error %v, want the error: %s", path, err, tt.want)
			}
		})
	}
}

func script(path, line string) error {
	return os.WriteFile(path, []byte("#!/bin/sh\n"+line+"\n"), 0o755)
}

func TestFolderWithoutProgramsIsNamed(t *testing.T) {
	empty := t.TempDir()
	missing := filepath.Join(empty, "none")
	tests := map[string]struct {
		dir, want string
		used      bool
	}{
		"not set":               {"", "", false},
		"a folder without them": {empty, "• not using $KUBEBUILDER_ASSETS (" + empty + "): it has none of etcd, kube-apiserver, ", false},
		"no such folder":        {missing, "• not using $KUBEBUILDER_ASSETS (" + missing + "): open " + missing + ": no such file", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, ok := assets(func(string) string { return tt.dir }, progress.New(&out))
			if ok != tt.used || !strings.HasPrefix(out.String(), tt.want) {
				t.Errorf("%v, %s", ok, out.String())
			}
		})
	}
}

func TestDownloadsOfSetupEnvtestAreFoundByVersion(t *testing.T) {
	home := t.TempDir()
	platform := runtime.GOOS + "-" + runtime.GOARCH
	store := filepath.Join(home, ".local", "share", "kubebuilder-envtest", "k8s")
	for _, name := range []string{"1.35.2-" + platform, "1.36.0-" + platform, "1.36.10-" + platform, "1.36.2-" + platform, "1.36.3-plan9-mips", "notes"} {
		if err := os.MkdirAll(filepath.Join(store, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	env := map[string]string{"HOME": home}
	var got []string
	for _, s := range downloaded(func(name string) string { return env[name] }, progress.New(&out)) {
		got = append(got, strings.TrimPrefix(s.dir, store+"/"))
	}
	if diff := cmp.Diff([]string{"1.36.10-" + platform, "1.36.2-" + platform, "1.36.0-" + platform}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("• not using setup-envtest's download of v1.35.2: the sandbox needs v1.36\n", out.String()); diff != "" {
		t.Error(diff)
	}
	env["XDG_DATA_HOME"] = filepath.Join(home, "elsewhere")
	if got := downloaded(func(name string) string { return env[name] }, progress.Discard()); got != nil {
		t.Errorf("without a folder of downloads it returned %v, want nil", got)
	}
}
