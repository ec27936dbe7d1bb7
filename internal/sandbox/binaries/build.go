// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/internal/filelock"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// Assets is the environment variable that names a folder with programs to use instead of built ones. envtest reads it too.
const Assets = "KUBEBUILDER_ASSETS"

// Programs are the paths of the programs of a control plane.
type Programs struct {
	Dir  string            // the cache folder of this build
	Path map[string]string // by name
}

// Build returns the programs. It builds those that are neither in $KUBEBUILDER_ASSETS nor in the cache below cacheDir. The first build
// takes minutes and needs the module proxy; p shows a step for each program.
func Build(ctx context.Context, cacheDir string, p *progress.Printer) (Programs, error) {
	goVersion, err := output(ctx, "", "env", "GOVERSION")
	if err != nil {
		return Programs{}, err
	}
	id, err := digest(module, goVersion, targets())
	if err != nil {
		return Programs{}, err
	}
	set := Programs{Dir: filepath.Join(cacheDir, "control-planes", id), Path: map[string]string{}}
	missing := set.find(os.Getenv(Assets))
	if len(missing) == 0 {
		return set, set.touch()
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(cacheDir, "locks", "control-planes"), func() {
		p.Note("another process builds the control planes: waiting for it")
	})
	if err != nil {
		return Programs{}, err
	}
	missing = set.find(os.Getenv(Assets)) // the other process may have built them
	err = set.build(ctx, missing, p)
	return set, errors.Join(err, lock.Release())
}

// find fills Path with the existing programs and returns the missing ones.
func (s Programs) find(assets string) (missing []target) {
	for _, t := range targets() {
		s.Path[t.name] = filepath.Join(s.Dir, file(t.name))
		if assets != "" && executable(filepath.Join(assets, file(t.name))) {
			s.Path[t.name] = filepath.Join(assets, file(t.name))
		}
		if !executable(s.Path[t.name]) {
			missing = append(missing, t)
		}
	}
	return missing
}

func (s Programs) build(ctx context.Context, missing []target, p *progress.Printer) error {
	if len(missing) == 0 {
		return s.touch()
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("making the cache of control planes: %w", err)
	}
	source, err := os.MkdirTemp("", "fairlead-control-planes-")
	if err != nil {
		return fmt.Errorf("making a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(source) }() // at worst a few kilobytes stay in the temporary folder
	if err := layOut(source); err != nil {
		return fmt.Errorf("laying out the module of the control planes: %w", err)
	}
	if len(missing) > 1 {
		p.Note("building %d programs of the control planes into %s: once, some 10 minutes on 2 cores", len(missing), s.Dir)
	}
	for i, t := range missing {
		step := p.Step("building %s (%d of %d)", t.name, i+1, len(missing))
		if err := s.buildOne(ctx, source, t); err != nil {
			step.Fail(errors.New("see below"))
			return err
		}
		step.Donef("built %s", t.name)
	}
	return s.touch()
}

func (s Programs) buildOne(ctx context.Context, source string, t target) error {
	to := filepath.Join(s.Dir, file(t.name))
	partial := to + ".partial"
	_, err := output(ctx, source, "build", "-trimpath", "-buildvcs=false", "-ldflags="+t.ldflags, "-o", partial, t.pkg)
	if err != nil {
		return fmt.Errorf("building %s: %w", t.name, err)
	}
	if err := os.Rename(partial, to); err != nil {
		return fmt.Errorf("putting %s in its place: %w", t.name, err)
	}
	return nil
}

// touch marks the build as used now, for Prune.
func (s Programs) touch() error {
	now := time.Now()
	if err := os.Chtimes(s.Dir, now, now); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("marking the control planes as used: %w", err)
	}
	return nil
}

// Link makes dir a folder with a link to every program, for PATH.
func (s Programs) Link(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of programs: %w", err)
	}
	for name, path := range s.Path {
		link := filepath.Join(dir, file(name))
		if old, err := os.Readlink(link); err == nil && old == path {
			continue
		}
		// By rename, since a supervisor may be starting this very program.
		if err := errors.Join(ignoreMissing(os.Remove(link+".new")), os.Symlink(path, link+".new")); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
		if err := os.Rename(link+".new", link); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// output runs the go command in dir, without the settings for modules and platforms in the user's environment.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("the control planes are built with Go, which is not on PATH (https://go.dev/dl): %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if dir == "" {
		cmd.Dir = os.TempDir()
	}
	cmd.Env = goEnv(os.Environ())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that go ends its compilers
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("running go %s: %w\n%s", args[0], err, tail(stderr.String(), 20))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// goEnv returns environ without the variables that would change the result of the build.
func goEnv(environ []string) []string {
	drop := map[string]bool{"GOFLAGS": true, "GOWORK": true, "GOOS": true, "GOARCH": true, "CGO_ENABLED": true,
		"GO111MODULE": true, "PWD": true}
	var env []string
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); !drop[name] {
			env = append(env, kv)
		}
	}
	return append(env, "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0", "GO111MODULE=on")
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
