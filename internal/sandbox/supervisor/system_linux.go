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

// supported says whether this system has what a supervisor rests on.
func supported() error { return nil }

var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
})

// identify reads the identity of a process that is known to run.
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

// Alive says whether this very process still runs. One that has ended and was not collected yet does not.
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

// signal reaches the whole group of the process, whose leader every supervised process and every supervisor is.
func (id Identity) signal(sig syscall.Signal) {
	if id.Alive() {
		_ = syscall.Kill(-id.PID, sig) // it may have ended since; gone() looks
	}
}

// childAttr makes a child the leader of a group of its own, killed by the kernel when the thread that started it
// ends: so it must be started from a thread that lives as long as the supervisor (see starter).
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// detachedAttr takes a supervisor out of the session of whoever started it: no terminal, no hang-up.
func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// socketPath is a way to a socket in dir that fits into a socket address, which holds 107 bytes only.
func socketPath(dir string) (string, func(), error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", fmt.Sprint(f.Fd()), socketName), func() { _ = f.Close() }, nil
}
