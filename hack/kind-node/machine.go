// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	gibi = 1 << 30
	// memoryNeeded is for the linker of kube-apiserver, the largest program, beside a running engine.
	memoryNeeded = 3 * gibi
	// diskNeeded is for the sources, the programs, two root file systems and the image.
	diskNeeded = 8 * gibi
	// Every systemd and kubelet in a node takes inotify instances: the kernel's default of 128 is too few for three clusters.
	inotifyInstances = 1024
	inotifyWatches   = 524288
)

// machine is the data that decides whether this machine can build and run a node image.
type machine struct {
	uid             int
	system          string // ID and VERSION_ID of os-release
	memory, disk    uint64 // bytes that are free
	cgroup          int    // the version, or 0 without one
	capSysResource  bool
	inotifySettable error
}

// thisMachine reads it. It also raises the limits of inotify where they are too low.
func thisMachine(work string) (machine, error) {
	m := machine{uid: os.Getuid(), cgroup: cgroupVersion()}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return m, fmt.Errorf("reading which system this is: %w", err)
	}
	m.system = systemOf(string(release))
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("reading how much memory is free: %w", err)
	}
	if m.memory, err = availableMemory(string(memory)); err != nil {
		return m, err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(work, &disk); err != nil {
		return m, fmt.Errorf("reading how much of the disk is free: %w", err)
	}
	m.disk = disk.Bavail * uint64(disk.Bsize)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return m, fmt.Errorf("reading the capabilities: %w", err)
	}
	m.capSysResource = mayUse(string(status), unix.CAP_SYS_RESOURCE)
	if m.uid == 0 {
		m.inotifySettable = errors.Join(
			raise("/proc/sys/fs/inotify/max_user_instances", inotifyInstances),
			raise("/proc/sys/fs/inotify/max_user_watches", inotifyWatches))
	}
	return m, nil
}

// check returns every reason why the image cannot be built here.
func (m machine) check() error {
	var reasons []error
	if m.uid != 0 {
		reasons = append(reasons, errors.New("it needs root: for apt-get, chroot and the container engine"))
	}
	if m.system != "debian 12" {
		reasons = append(reasons, fmt.Errorf("it needs Debian 12, because the programs link to its glibc and libseccomp; this is %s", m.system))
	}
	if m.memory < memoryNeeded {
		reasons = append(reasons, fmt.Errorf("it needs %d MiB of free memory; %d MiB are free", uint64(memoryNeeded)>>20, m.memory>>20))
	}
	if m.disk < diskNeeded {
		reasons = append(reasons, fmt.Errorf("it needs %d MiB on the disk; %d MiB are free", uint64(diskNeeded)>>20, m.disk>>20))
	}
	if m.cgroup == 0 {
		reasons = append(reasons, errors.New("/sys/fs/cgroup has neither cgroup v1 nor v2: containers cannot run here"))
	}
	if m.inotifySettable != nil {
		reasons = append(reasons, fmt.Errorf("kind needs fs.inotify.max_user_instances of %d and fs.inotify.max_user_watches of %d, and they cannot be raised here. Raise them with sysctl on the machine itself: %w",
			inotifyInstances, inotifyWatches, m.inotifySettable))
	}
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("the node image cannot be built on this machine:\n%w", errors.Join(reasons...))
}

func (m machine) String() string {
	return fmt.Sprintf("%s, cgroup v%d, %d MiB of memory free", m.system, m.cgroup, m.memory>>20)
}

// systemOf returns ID and VERSION_ID of an os-release file.
func systemOf(release string) string {
	values := map[string]string{}
	for line := range strings.Lines(release) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = strings.Trim(value, `"`)
	}
	return strings.TrimSpace(values["ID"] + " " + values["VERSION_ID"])
}

// availableMemory returns MemAvailable of /proc/meminfo in bytes.
func availableMemory(meminfo string) (uint64, error) {
	lines := bufio.NewScanner(strings.NewReader(meminfo))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "MemAvailable:" {
			kibi, err := strconv.ParseUint(fields[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("reading MemAvailable of /proc/meminfo: %w", err)
			}
			return kibi << 10, nil
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}

// mayUse reports whether the bounding set in /proc/self/status has a capability.
func mayUse(status string, capability uint) bool {
	for line := range strings.Lines(status) {
		if set, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return err == nil && bits&(1<<capability) != 0
		}
	}
	return false
}

// raise writes a kernel setting that is lower than least.
func raise(path string, least int) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if now, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil && now >= least {
		return nil
	}
	return os.WriteFile(path, []byte(strconv.Itoa(least)), 0o644)
}

func cgroupVersion() int {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return 2
	}
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err == nil {
		return 1
	}
	return 0
}
