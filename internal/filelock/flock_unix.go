// SPDX-License-Identifier: Apache-2.0

//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// fileID returns the file's device and inode. While the file is open, the kernel gives its inode to no other file.
func fileID(f *os.File) (string, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return "", fmt.Errorf("identifying lock %s: %w", f.Name(), err)
	}
	return fmt.Sprintf("%x-%x", stat.Dev, stat.Ino), nil
}
