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

// Programs are the programs of a control plane on this machine.
type Programs struct {
	Dir  string            // the cache folder of this build
	Path map[string]string // the path of each program, by its name
}

// Build returns the named programs. It looks for each program in this order: in $KUBEBUILDER_ASSETS, in earlier builds below cacheDir, and in
// the downloads of setup-envtest. It builds the programs that it does not find. The first build takes 10 to 15 minutes and needs a Go
// module proxy. p shows the progress.
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
	missing = set.takeBuilt(missing) // look again: the process that held the lock may have built them
	err = set.build(ctx, missing, p)
	return set, errors.Join(err, lock.Release())
}

// Built reports whether earlier builds below cacheDir have all the named programs.
func Built(ctx context.Context, cacheDir string, names []string) (bool, error) {
	set, err := open(ctx, cacheDir)
	return len(set.takeBuilt(targetsOf(names))) == 0, err
}

// open returns the Programs of the build for this module and Go version, without any program yet. It creates no folder.
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

// takeBuilt adds to Path each wanted program that is in the folder of this build, and returns the wanted programs that are not there.
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
	defer func() { _ = os.RemoveAll(source) }() // after an error, some kilobytes stay in the temporary folder
	if err := layOut(source); err != nil {
		return fmt.Errorf("laying out the module of the control planes: %w", err)
	}
	note := "building the programs into %s; this is needed only once"
	if slices.ContainsFunc(missing, func(t target) bool { return t.name == APIServer }) {
		note += ", and takes 10 to 15 minutes from empty caches on 2 cores"
	}
	p.Note(note, s.Dir)
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

// buildOne builds one program and adds it to Path. step shows how many of the program's packages are built.
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
	// Count all packages of the program as built. `go build -v` prints no package if it only had to link the program, or if
	// the linked program was in Go's cache.
	for _, path := range list.of[list.mainOf(t.pkg)] {
		list.built[path] = true
	}
	return nil
}

// touch records that this build was used just now. Prune keeps builds that were used in the last hour.
func (s Programs) touch() error {
	now := time.Now()
	if err := os.Chtimes(s.Dir, now, now); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("recording that the control planes are in use: %w", err)
	}
	return nil
}

// Link makes a link in dir to each program, so that a user can put dir on PATH.
func (s Programs) Link(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of programs: %w", err)
	}
	for name, path := range s.Path {
		link := filepath.Join(dir, file(name))
		if old, err := os.Readlink(link); err == nil && old == path {
			continue
		}
		// Rename the new link over the old one, so that the link exists at every moment: a supervisor may be starting the
		// program.
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
