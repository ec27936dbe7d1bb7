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
	// memoryNeeded is the free memory, in bytes, that a build needs. This is what the linker needs for the largest program, kube-apiserver,
	// while a container engine runs beside it.
	memoryNeeded = 3 * gibi
	// diskNeeded is the free disk space, in bytes, that sources, programs, two root file systems and the image need.
	diskNeeded = 8 * gibi
	// The kernel's default of 128 inotify instances is too few for three clusters: systemd and the kubelet of every node take some.
	inotifyInstances = 1024
	inotifyWatches   = 524288
)

// machine has the properties of this machine that decide whether it can build and run a node image.
type machine struct {
	uid             int
	system          string // ID and VERSION_ID of os-release, for example "debian 12"
	memory, disk    uint64 // free, in bytes
	cgroup          int    // the version of cgroups; 0 means none
	capSysResource  bool
	inotifySettable error
}

// thisMachine reads the properties of this machine. As root, it first raises the limits of inotify if they are too low.
func thisMachine(work string) (machine, error) {
	m := machine{uid: os.Getuid(), cgroup: cgroupVersion()}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return m, fmt.Errorf("reading the name of the operating system: %w", err)
	}
	m.system = systemOf(string(release))
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("reading the size of the free memory: %w", err)
	}
	if m.memory, err = availableMemory(string(memory)); err != nil {
		return m, err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(work, &disk); err != nil {
		return m, fmt.Errorf("reading the size of the free disk space: %w", err)
	}
	m.disk = disk.Bavail * uint64(disk.Bsize)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return m, fmt.Errorf("reading the capabilities of this process: %w", err)
	}
	m.capSysResource = mayUse(string(status), unix.CAP_SYS_RESOURCE)
	if m.uid == 0 {
		m.inotifySettable = errors.Join(
			raise("/proc/sys/fs/inotify/max_user_instances", inotifyInstances),
			raise("/proc/sys/fs/inotify/max_user_watches", inotifyWatches))
	}
	return m, nil
}

// check returns an error with all reasons why this machine cannot build the image, or nil.
func (m machine) check() error {
	var reasons []error
	if m.uid != 0 {
		reasons = append(reasons, errors.New("the build needs root, for apt-get, chroot and the container engine"))
	}
	if m.system != "debian 12" {
		reasons = append(reasons, fmt.Errorf("the build needs Debian 12, because the programs link to its glibc and libseccomp; this system is %s", m.system))
	}
	if m.memory < memoryNeeded {
		reasons = append(reasons, fmt.Errorf("the build needs %d MiB of free memory; %d MiB are free", uint64(memoryNeeded)>>20, m.memory>>20))
	}
	if m.disk < diskNeeded {
		reasons = append(reasons, fmt.Errorf("the build needs %d MiB of free disk space; %d MiB are free", uint64(diskNeeded)>>20, m.disk>>20))
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

// systemOf returns ID and VERSION_ID in the content of an os-release file.
func systemOf(release string) string {
	values := map[string]string{}
	for line := range strings.Lines(release) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = strings.Trim(value, `"`)
	}
	return strings.TrimSpace(values["ID"] + " " + values["VERSION_ID"])
}

// availableMemory returns MemAvailable in the content of /proc/meminfo, in bytes.
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

// mayUse reports whether this process may use a capability: whether its bounding set contains the capability. status is the content of
// /proc/self/status.
func mayUse(status string, capability uint) bool {
	for line := range strings.Lines(status) {
		if set, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return err == nil && bits&(1<<capability) != 0
		}
	}
	return false
}

// raise increases a kernel setting to a minimum, the argument least. It leaves a higher value as it is. path is the file of the setting.
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
