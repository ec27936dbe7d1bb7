// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package filelock

import (
	"errors"
	"os"
)

func tryLock(*os.File) error { return errors.ErrUnsupported }

func fileID(*os.File) (string, error) { return "", errors.ErrUnsupported }
