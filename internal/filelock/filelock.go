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

// ErrHeld is the error of Try if another process holds the lock.
var ErrHeld = errors.New("held by another process")

// retry is the time after which Acquire tries again. Acquire polls, because a context cannot end a wait inside the
// kernel.
const retry = 200 * time.Millisecond

// Lock is a held lock. Release, or the end of the process, releases it.
type Lock struct{ file *os.File }

// Try takes the lock on the file at path, and creates the file if it does not exist. If another process holds the lock,
// Try returns ErrHeld at once.
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

// Acquire takes the lock on the file at path. If another process holds it, Acquire calls the function waiting once, and
// then waits until the lock is free or ctx ends. The function may be nil.
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

// FileID returns the device and the inode of the locked file. While the lock is held, no other file of this machine has
// the same id.
func (l *Lock) FileID() (string, error) { return fileID(l.file) }
