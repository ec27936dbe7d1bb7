// SPDX-License-Identifier: Apache-2.0

package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrHeld is returned by Try when another process holds the lock.
var ErrHeld = errors.New("held by another process")

// retry is the interval at which Acquire tries again. A context cannot interrupt a wait in the kernel.
const retry = 200 * time.Millisecond

// Lock is a held lock. Release, or the end of the process, releases it.
type Lock struct{ file *os.File }

// Try takes the lock at path. If another process holds it, Try does not wait, and fails with ErrHeld.
func Try(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of lock %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock %s: %w", path, err)
	}
	if err := tryLock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return &Lock{f}, nil
}

// Acquire takes the lock at path and waits for it as long as ctx allows. If it has to wait, it calls waiting once.
func Acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	tick := time.NewTicker(retry)
	defer tick.Stop()
	for first := true; ; first = false {
		l, err := Try(path)
		if err == nil || !errors.Is(err, ErrHeld) {
			return l, err
		}
		if first && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for lock %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// Release releases the lock.
func (l *Lock) Release() error { return l.file.Close() }

// FileID returns the device and the inode of the locked file. No other file on the same running kernel has this id while
// the lock is held.
func (l *Lock) FileID() (string, error) { return fileID(l.file) }
