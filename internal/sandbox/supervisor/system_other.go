// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package supervisor

import (
	"errors"
	"path/filepath"
	"syscall"
)

var errSystem = errors.New("sandboxes need Linux; run them in a Linux machine or container and copy the kubeconfig")

func supported() error                    { return errSystem }
func identify(int) (Identity, error)      { return Identity{}, errSystem }
func (id Identity) Alive() bool           { return false }
func (id Identity) signal(syscall.Signal) {}
func childAttr() *syscall.SysProcAttr     { return nil }
func detachedAttr() *syscall.SysProcAttr  { return nil }

func socketPath(dir string) (string, func(), error) {
	return filepath.Join(dir, socketName), func() {}, nil
}
