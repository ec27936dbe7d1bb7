// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/internal/filelock"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// Programs are the paths of the programs of a control plane.
type Programs struct {
	Dir  string            // the cache folder of this build
	Path map[string]string // by name
}

// Build returns the named programs. It uses the programs in $KUBEBUILDER_ASSETS, then those of an earlier build below
// cacheDir, then those that setup-envtest downloaded, and builds the others. The first build takes minutes and needs
// the module proxy. p shows the progress.
func Build(ctx context.Context, cacheDir string, names []string, p *progress.Printer) (Programs, error) {
	set, err := open(ctx, cacheDir)
	if err != nil {
		return Programs{}, err
	}
	missing := targetsOf(names)
	if from, ok := assets(os.Getenv, p); ok {
		missing = set.takeSupplied(ctx, from, missing, p)
	}
	if missing = set.takeBuilt(missing); len(missing) == 0 {
		return set, set.touch()
	}
	if slices.ContainsFunc(missing, supplied) {
		for _, from := range downloaded(os.Getenv, p) {
			missing = set.takeSupplied(ctx, from, missing, p)
		}
	}
	if len(missing) == 0 {
		return set, set.touch()
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(cacheDir, "locks", "control-planes"), func() {
		p.Note("another process builds the control planes: waiting for it")
	})
	if err != nil {
		return Programs{}, err
	}
	missing = set.takeBuilt(missing) // the other process may have built them
	err = set.build(ctx, missing, p)
	return set, errors.Join(err, lock.Release())
}

// Built reports whether an earlier build has left all the named programs below cacheDir.
func Built(ctx context.Context, cacheDir string, names []string) (bool, error) {
	set, err := open(ctx, cacheDir)
	return len(set.takeBuilt(targetsOf(names))) == 0, err
}

// open returns the folder for the programs, without any program yet.
func open(ctx context.Context, cacheDir string) (Programs, error) {
	goVersion, err := runGo(ctx, "", nil, "env", "GOVERSION")
	if err != nil {
		return Programs{}, err
	}
	id, err := digest(module, goVersion, targets())
	if err != nil {
		return Programs{}, err
	}
	return Programs{Dir: filepath.Join(cacheDir, "control-planes", id), Path: map[string]string{}}, nil
}

// takeBuilt fills Path with the programs that an earlier build left, for those in wanted, and returns the others.
func (s Programs) takeBuilt(wanted []target) (others []target) {
	for _, t := range wanted {
		if path := filepath.Join(s.Dir, file(t.name)); executable(path) {
			s.Path[t.name] = path
		} else {
			others = append(others, t)
		}
	}
	return others
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
	p.Note("building the programs into %s; this is needed only once, and takes 10 to 15 minutes from empty caches on 2 cores", s.Dir)
	step := p.Step("finding the packages of %s", namesOf(missing))
	list, err := listPackages(ctx, source, missing, step)
	if err != nil {
		step.Fail(errors.New("see below"))
		return err
	}
	built, all := list.count()
	step.Donef("%s: %d packages, of which Go's build cache has %d", namesOf(missing), all, built)
	for i, t := range missing {
		step := p.Step("building %s (%d of %d)", t.name, i+1, len(missing))
		if err := s.buildOne(ctx, source, t, list, step); err != nil {
			step.Fail(errors.New("see below"))
			return err
		}
		step.Donef("built %s", t.name)
	}
	return s.touch()
}

// buildOne builds a program, and adds it to Path. step shows how many of its packages are built.
func (s Programs) buildOne(ctx context.Context, source string, t target, list packages, step *progress.Step) error {
	to := filepath.Join(s.Dir, file(t.name))
	partial := to + ".partial"
	show := func() {
		if built, all := list.countOf(t.pkg); built < all {
			step.Update("%d of %d packages", built, all)
		} else {
			step.Update("all %d packages, linking", all)
		}
	}
	show()
	args := append([]string{"build", "-v", "-ldflags=" + t.ldflags, "-o", partial}, buildFlags...)
	_, err := runGo(ctx, source, func(line string) bool {
		known := list.begin(line)
		if known {
			show()
		}
		return known
	}, append(args, t.pkg)...)
	if err != nil {
		return fmt.Errorf("building %s: %w", t.name, err)
	}
	if err := os.Rename(partial, to); err != nil {
		return fmt.Errorf("putting %s in its place: %w", t.name, err)
	}
	s.Path[t.name] = to
	// A program that was linked before is in no line of `go build -v`, and needs its packages all the same.
	for _, path := range list.of[list.mainOf(t.pkg)] {
		list.built[path] = true
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
		// The link is replaced by a rename, since a supervisor may be starting this very program.
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
