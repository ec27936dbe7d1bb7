// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	// inotifyFolder is the folder with the machine's limits of inotify.
	inotifyFolder = "/proc/sys/fs/inotify"
)

// inotifyLimits are the smallest limits of inotify for kind. The kernel's default of 128 instances is too few for three clusters: systemd and
// the kubelet of every node take some.
var inotifyLimits = []struct {
	name  string
	least int
}{{"max_user_instances", 1024}, {"max_user_watches", 524288}}

// machine has the properties of this machine that decide whether it can build and run a node image.
type machine struct {
	uid            int
	system         string // ID and VERSION_ID of os-release, for example "debian 12"
	memory, disk   uint64 // free, in bytes
	cgroup         int    // the version of cgroups; 0 means none
	capSysResource bool
}

// thisMachine reads the properties of this machine. It changes nothing.
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

// raiseInotify increases the limits of inotify that are too low for kind, and tells what it changed. It leaves a higher limit as it is.
// folder is inotifyFolder, or a folder of a test.
func raiseInotify(folder string, progress io.Writer) error {
	var refused []error
	for _, l := range inotifyLimits {
		path := filepath.Join(folder, l.name)
		content, err := os.ReadFile(path)
		was := strings.TrimSpace(string(content))
		if now, failed := strconv.Atoi(was); err == nil && failed == nil && now >= l.least {
			continue
		}
		if err == nil {
			err = os.WriteFile(path, []byte(strconv.Itoa(l.least)), 0o644)
		}
		if err != nil {
			refused = append(refused, fmt.Errorf("kind needs fs.inotify.%s of %d, and it cannot be raised here. Raise it with sysctl on the machine itself: %w", l.name, l.least, err))
			continue
		}
		fmt.Fprintf(progress, "• raised fs.inotify.%s of this machine: %s → %d, until its next start\n", l.name, was, l.least)
	}
	return errors.Join(refused...)
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
