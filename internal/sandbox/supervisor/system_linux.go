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

// supported returns an error on a system that lacks what a supervisor needs. Linux has it.
func supported() error { return nil }

var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
})

// identify returns the identity of the running process with this pid.
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

// Alive reports whether the process with this identity still runs. A zombie (a process that has ended, but that
// its parent has not reaped) does not run any more.
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

// signal sends a signal to the process and its group. Every supervised process and every supervisor leads a group of its own.
func (id Identity) signal(sig syscall.Signal) {
	if id.Alive() {
		_ = syscall.Kill(-id.PID, sig) // the process may have ended since Alive; gone checks that
	}
}

// childAttr makes a child lead a group of its own, and makes the kernel kill it when the thread that started it ends. So that thread
// must live as long as the supervisor (see starter).
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// detachedAttr puts a supervisor into a session of its own, so it has no terminal and gets no hang-up signal.
func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// socketPath returns a path to the socket in dir that fits into a socket address, which has room for 107 bytes. The path is valid
// until the caller calls the returned function.
func socketPath(dir string) (string, func(), error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", fmt.Sprint(f.Fd()), socketName), func() { _ = f.Close() }, nil
}
