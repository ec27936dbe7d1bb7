// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// supported returns an error on systems without the features that a supervisor needs.
func supported() error { return nil }

var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
})

// identify reads the identity of a running process.
func identify(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	_, start, err := parseStat(string(stat))
	if err != nil {
		return Identity{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: start, Boot: boot()}, nil
}

// Alive reports whether this very process still runs. A process that has ended and was not reaped yet does not.
func (id Identity) Alive() bool {
	if id.zero() || id.Boot != boot() {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
	if err != nil {
		return false
	}
	state, start, err := parseStat(string(stat))
	return err == nil && start == id.Start && state != 'Z' && state != 'X'
}

// signal sends a signal to the process group. Every supervised process and every supervisor is the leader of a group.
func (id Identity) signal(sig syscall.Signal) {
	if id.Alive() {
		_ = syscall.Kill(-id.PID, sig) // it may have ended since; gone checks that
	}
}

// childAttr makes a child the leader of a group of its own. The kernel kills it when the thread that started it ends, so that thread
// must live as long as the supervisor (see starter).
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// detachedAttr starts a supervisor in a session of its own, so that it has no terminal and gets no hang-up signal.
func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// socketPath returns a path to the socket in dir that is short enough for a socket address, which holds only 107 bytes.
func socketPath(dir string) (string, func(), error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", fmt.Sprint(f.Fd()), socketName), func() { _ = f.Close() }, nil
}
