// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/internal/filelock"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
)

const stateName = "sandbox.json"

// state is what a sandbox stores between commands. The processes are not in it: the supervisor stores them itself.
type state struct {
	Created  time.Time      `json:"created"`
	Version  string         `json:"version,omitempty"` // the version of the API servers; "" until one has answered
	Options  savedOptions   `json:"options"`
	Binaries string         `json:"binaries"` // the cache folder with the programs, which must not be pruned
	Clusters []cluster.Spec `json:"clusters"`
}

// savedOptions are the fields of Options that later commands need.
type savedOptions struct {
	Members       int      `json:"members"`
	OLM           bool     `json:"olm,omitempty"`
	Bare          bool     `json:"bare,omitempty"`
	Audit         bool     `json:"audit,omitempty"`
	Fsync         bool     `json:"fsync,omitempty"`
	MoreMemory    bool     `json:"moreMemory,omitempty"`
	APIServerArgs []string `json:"apiServerArgs,omitempty"`
}

func (s savedOptions) options(name string) Options {
	return Options{Name: name, Members: s.Members, OLM: s.OLM, Bare: s.Bare, Audit: s.Audit, Fsync: s.Fsync, MoreMemory: s.MoreMemory, APIServerArgs: s.APIServerArgs}
}

func (o Options) saved() savedOptions {
	return savedOptions{Members: o.Members, OLM: o.OLM, Bare: o.Bare, Audit: o.Audit, Fsync: o.Fsync, MoreMemory: o.MoreMemory, APIServerArgs: o.APIServerArgs}
}

// CacheDir returns the folder for builds and sandboxes: $XDG_CACHE_HOME/fairlead, by default ~/.cache/fairlead.
func CacheDir() (string, error) {
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) { // the XDG specification requires that a relative path is ignored
		return filepath.Join(dir, "fairlead"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for sandboxes (set XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(home, ".cache", "fairlead"), nil
}

// NotFoundError is the error for a name that no sandbox has.
type NotFoundError struct {
	Name     string
	Existing []string
}

func (e *NotFoundError) Error() string {
	hint := "no sandbox exists"
	if len(e.Existing) > 0 {
		hint = "existing sandboxes: " + strings.Join(e.Existing, ", ")
	}
	return fmt.Sprintf("no sandbox %q: %s; `hostctl sandbox up --name %s` makes it", e.Name, hint, e.Name)
}

// Names returns the names of all sandboxes, sorted.
func Names() ([]string, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(cache, "sandboxes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing sandboxes: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func readState(dir string) (state, error) {
	var st state
	content, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return st, fmt.Errorf("reading the state of a sandbox: %w", err)
	}
	if err := json.Unmarshal(content, &st); err != nil {
		return st, fmt.Errorf("reading the state of a sandbox: %s: %w; remove it with `hostctl sandbox down`, and make it again with `up`", dir, err)
	}
	for i := range st.Clusters {
		st.Clusters[i].Dir = filepath.Join(dir, st.Clusters[i].Name)
		st.Clusters[i].Binaries = filepath.Join(dir, "bin")
	}
	return st, nil
}

func (st state) write(dir string) error {
	content, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the state of a sandbox: %w", err)
	}
	path := filepath.Join(dir, stateName)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("writing the state of a sandbox: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the state of a sandbox: %w", err)
	}
	return nil
}

// stateFile has the state of a sandbox, as this process has last read or written it.
type stateFile struct {
	cache string // the folder of all sandboxes and builds
	dir   string // the folder of the sandbox

	mu    sync.Mutex
	state state
}

// get returns the state. The caller must not change the clusters in it.
func (f *stateFile) get() state {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// load reads the state.
func (f *stateFile) load() error {
	st, err := readState(f.dir)
	f.mu.Lock()
	f.state = st
	f.mu.Unlock()
	return err
}

// update reads the state, calls the function change and writes the state. No other command can do that meanwhile: otherwise two
// commands could choose the same ports.
func (f *stateFile) update(ctx context.Context, change func(*state) error) error {
	lock, err := filelock.Acquire(ctx, filepath.Join(f.cache, "locks", "state"), nil)
	if err != nil {
		return err
	}
	st, err := readState(f.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, lock.Release())
	}
	if err := change(&st); err != nil {
		return errors.Join(err, lock.Release())
	}
	if err := st.write(f.dir); err != nil {
		return errors.Join(err, lock.Release())
	}
	err = f.load() // readState sets the fields that depend on the folder
	return errors.Join(err, lock.Release())
}
