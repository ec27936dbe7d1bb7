// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package lease

import "errors"

func kernelID() (string, error) { return "", errors.ErrUnsupported }
