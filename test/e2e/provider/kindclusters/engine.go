// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	kindexec "sigs.k8s.io/kind/pkg/exec"
)

const (
	// memoryPerNode is the memory, in bytes, that a node needs with the pods of the suite. The control plane alone needs half a
	// gibibyte.
	memoryPerNode = 700 << 20
	// inotifyFolder is the folder with the machine's limits of inotify.
	inotifyFolder = "/proc/sys/fs/inotify"
)

// inotifyLimit is a limit of inotify. systemd, containerd and kubelet of each node use instances and watches.
type inotifyLimit struct {
	name   string
	least  int // preflight refuses less
	remedy int // the value that preflight's error tells, which is that of `make kind-node`
}

// inotifyLimits are the limits that preflight checks. Six nodes run with 512 instances. The default of kernels before 5.11, 8192 watches, is
// too few; later kernels derive theirs from the memory.
var inotifyLimits = []inotifyLimit{{"max_user_instances", 512, 1024}, {"max_user_watches", 32768, 524288}}

// errNoEngine is the cause of preflight's error if no container engine answers.
var errNoEngine = errors.New("no container engine")

// preflight returns an error that names what is missing if this machine cannot run the clusters. The argument inotify is inotifyFolder, or a
// folder of a test.
func preflight(ctx context.Context, images []string, nodes int, inotify string) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return fmt.Errorf("%w: docker is not on PATH; on Debian 12 `make kind-node` installs docker", errNoEngine)
	}
	if _, err := docker(ctx, nil, "version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("%w responds to the docker command. On Debian 12 `make kind-node` starts dockerd, "+
			"on other systems `systemctl start docker`: %w", errNoEngine, err)
	}
	memory, err := freeMemory(ctx)
	if err != nil {
		return err
	}
	if need := uint64(nodes) * memoryPerNode; memory < need {
		return fmt.Errorf("%d nodes need %d MiB of memory; %d MiB are free", nodes, need>>20, memory>>20)
	}
	for _, l := range inotifyLimits {
		content, err := os.ReadFile(filepath.Join(inotify, l.name))
		if err != nil { // not Linux
			continue
		}
		if limit, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil && limit < l.least {
			return fmt.Errorf("fs.inotify.%s is %d, and %d nodes need %d: run `sysctl fs.inotify.%[1]s=%[5]d`", l.name, limit, nodes, l.least, l.remedy)
		}
	}
	for _, image := range images {
		if _, err := docker(ctx, nil, "image", "inspect", "--format", "{{.Id}}", image); err == nil {
			continue
		}
		if _, err := docker(ctx, nil, "pull", "--quiet", image); err != nil {
			return fmt.Errorf("the engine has no node image %s and cannot pull it. Build an image with `make kind-node`, or name another image in KIND_NODE_IMAGE: %w", image, err)
		}
	}
	return nil
}

// freeMemory returns the memory, in bytes, that containers can still use. On Linux that is MemAvailable of the machine. On other
// systems it is the memory of the virtual machine in which the engine runs.
func freeMemory(ctx context.Context) (uint64, error) {
	if meminfo, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(meminfo)) {
			if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemAvailable:" {
				kibi, err := strconv.ParseUint(fields[1], 10, 64)
				return kibi << 10, err
			}
		}
	}
	total, err := docker(ctx, nil, "info", "--format", "{{.MemTotal}}")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(total, 10, 64)
}

// docker runs the docker command with these arguments and returns its standard output.
func docker(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	return runProgram(ctx, stdin, nil, "docker", args...)
}

func runProgram(ctx context.Context, stdin io.Reader, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// withOutput adds the failed command's output to an error of kind. The error alone has the command and its exit code, but not
// docker's message, which tells the cause.
func withOutput(err error) error {
	failed := kindexec.RunErrorForError(err)
	if failed == nil {
		return err
	}
	if said := strings.TrimSpace(string(failed.Output)); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}
