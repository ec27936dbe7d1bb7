// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// Assets is the environment variable that names a folder with the user's own programs. envtest reads the same variable.
const Assets = "KUBEBUILDER_ASSETS"

// askWithin bounds the time in which a program has to print its version.
const askWithin = 20 * time.Second

// versionArgs are the arguments with which a user's program prints its version. A program that is not listed here is always built: envtest does
// not have it, or it does not print the version from which it was built.
var versionArgs = map[string][]string{
	Etcd:              {"--version"},
	APIServer:         {"--version"},
	ControllerManager: {"--version"},
	Scheduler:         {"--version"},
	Kubectl:           {"version", "--client"},
}

// supplied reports whether a user's own program can be used for t. Otherwise the sandbox always builds the program.
func supplied(t target) bool { _, ok := versionArgs[t.name]; return ok }

// suppliedPath returns the path and the version of the program in dir, or an empty path if dir does not have it. It returns an error for another minor
// version, for two reasons: the controller manager and the scheduler that the sandbox builds must not be newer than the API server, and
// the flags of a cluster's processes are those of one minor version.
func suppliedPath(ctx context.Context, dir, name string) (path, version string, err error) {
	args, known := versionArgs[name]
	path = filepath.Join(dir, file(name))
	info, statErr := os.Stat(path)
	if !known || errors.Is(statErr, os.ErrNotExist) {
		return "", "", nil
	}
	if statErr != nil {
		return "", "", statErr
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", "", errors.New("it is not an executable file")
	}
	wanted := utilversion.MustParseSemantic(KubernetesVersion)
	if name == Etcd {
		wanted = utilversion.MustParseSemantic(etcdVersion)
	}
	got, err := askVersion(ctx, path, args)
	if err != nil {
		return "", "", err
	}
	if !sameMinor(got, wanted) {
		return "", "", fmt.Errorf("it is v%s, and the sandbox needs v%d.%d", got, wanted.Major(), wanted.Minor())
	}
	return path, "v" + got.String(), nil
}

// askVersion runs a program with args, and parses the version that it prints.
func askVersion(ctx context.Context, path string, args []string) (*utilversion.Version, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askWithin, fmt.Errorf("it did not answer within %s", askWithin))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("asking for its version: %w", context.Cause(ctx))
	case errors.Is(err, syscall.ENOEXEC):
		return nil, fmt.Errorf("it is not a program for this machine, %s/%s", runtime.GOOS, runtime.GOARCH)
	case err != nil:
		return nil, fmt.Errorf("asking for its version: %w", err)
	}
	return parseVersion(string(out))
}

// parseVersion parses a version at the end of the first line: "Kubernetes v1.36.3", "Client Version: v1.36.3" or "etcd Version: 3.6.8".
func parseVersion(text string) (*utilversion.Version, error) {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) > 0 {
		if v, err := utilversion.ParseSemantic(words[len(words)-1]); err == nil {
			return v, nil
		}
	}
	return nil, fmt.Errorf("asked for its version, it printed %.80q", line)
}

// source is a folder with programs that the sandbox has not built itself.
type source struct {
	dir  string
	name string // the folder's name in messages
}

// takeSupplied adds to Path each wanted program of which the folder has a usable version. from is the folder. takeSupplied returns the
// other wanted programs. p shows which programs it takes from the folder, and why it does not take others.
func (s Programs) takeSupplied(ctx context.Context, from source, wanted []target, p *progress.Printer) (others []target) {
	var used []string
	for _, t := range wanted {
		path, version, err := suppliedPath(ctx, from.dir, t.name)
		switch {
		case err != nil:
			p.Note("not using %s of %s: %v", t.name, from.name, err)
		case path != "":
			s.Path[t.name] = path
			used = append(used, t.name+" "+version)
			continue
		}
		others = append(others, t)
	}
	if len(used) > 0 {
		p.Note("using %s of %s", strings.Join(used, ", "), from.name)
	}
	return others
}

// assets returns the folder in $KUBEBUILDER_ASSETS, and false if there is no such folder. p shows why a folder is not used.
func assets(getenv func(string) string, p *progress.Printer) (source, bool) {
	dir := getenv(Assets)
	if dir == "" {
		return source{}, false
	}
	from := source{dir: dir, name: "$" + Assets + " (" + dir + ")"}
	if _, err := os.ReadDir(dir); err != nil {
		p.Note("not using %s: %v", from.name, err)
		return source{}, false
	}
	names := slices.Sorted(maps.Keys(versionArgs))
	if !slices.ContainsFunc(names, func(name string) bool { _, err := os.Stat(filepath.Join(dir, file(name))); return err == nil }) {
		p.Note("not using %s: it has none of %s", from.name, strings.Join(names, ", "))
		return source{}, false
	}
	return from, true
}

// downloaded returns the folders in which setup-envtest keeps programs of the needed minor version, the newest version first. p shows the folders of other
// versions. (The tool kind offers no such folder: its programs are inside its node images.)
func downloaded(getenv func(string) string, p *progress.Printer) []source {
	data := getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(getenv("HOME"), ".local", "share")
	}
	platform := "-" + runtime.GOOS + "-" + runtime.GOARCH
	store := filepath.Join(data, "kubebuilder-envtest", "k8s")
	entries, err := os.ReadDir(store)
	if err != nil {
		return nil // this user has no downloads of setup-envtest
	}
	wanted := utilversion.MustParseSemantic(KubernetesVersion)
	var versions []*utilversion.Version
	for _, e := range entries {
		text, ok := strings.CutSuffix(e.Name(), platform)
		v, err := utilversion.ParseSemantic(text)
		switch {
		case !ok || err != nil: // a download for another platform
		case !sameMinor(v, wanted):
			p.Note("not using setup-envtest's download of v%s: the sandbox needs v%d.%d", v, wanted.Major(), wanted.Minor())
		default:
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(a, b *utilversion.Version) int {
		if a.LessThan(b) {
			return 1
		}
		return -1
	})
	var list []source
	for _, v := range versions {
		list = append(list, source{dir: filepath.Join(store, v.String()+platform), name: "setup-envtest's download of v" + v.String()})
	}
	return list
}

func sameMinor(a, b *utilversion.Version) bool {
	return a.Major() == b.Major() && a.Minor() == b.Minor()
}
