// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/internal/filelock"
)

// unusedFor is the time for which Prune keeps a build after its last use. Without that time, a developer who works in two checkouts by
// turns would wait for a build at each change.
const unusedFor = time.Hour

// Prune removes builds that are not in inUse and have not been used in the last hour. If another process is building, Prune removes nothing, and does
// not wait.
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
			continue // the build is gone, in use, or was used in the last hour
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(fmt.Errorf("removing old control planes: %w", err), lock.Release())
	}
	return lock.Release()
}
