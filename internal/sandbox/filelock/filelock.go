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

// ErrHeld is returned by Try when somebody else holds the lock.
var ErrHeld = errors.New("held by another process")

// retry is how often Acquire looks again; waiting in the kernel could not be interrupted by a context.
const retry = 200 * time.Millisecond

// Lock is a held lock; Release it, or end the process.
type Lock struct{ file *os.File }

// Try takes the lock at path, or fails with ErrHeld at once.
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

// Acquire takes the lock at path and waits for it as long as ctx allows; waiting is called once if it has to.
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

// Release lets the next one in.
func (l *Lock) Release() error { return l.file.Close() }
