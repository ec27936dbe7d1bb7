// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/internal/sandbox/filelock"
)

// unusedFor is how long a build outlives its last use: two checkouts that take turns should not build each time.
const unusedFor = time.Hour

// Prune removes builds that no folder in inUse is and that nobody has asked for in the last hour. It never waits:
// while somebody builds, it leaves everything as it is.
func Prune(cacheDir string, inUse []string, now time.Time) error {
	lock, err := filelock.Try(filepath.Join(cacheDir, "locks", "control-planes"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, dir := range inUse {
		keep[filepath.Clean(dir)] = true
	}
	root := filepath.Join(cacheDir, "control-planes")
	entries, err := os.ReadDir(root)
	errs := []error{ignoreMissing(err)}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		info, err := e.Info()
		if err != nil || keep[dir] || now.Sub(info.ModTime()) < unusedFor {
			continue // one that is gone already is what we wanted
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(fmt.Errorf("removing old control planes: %w", err), lock.Release())
	}
	return lock.Release()
}
