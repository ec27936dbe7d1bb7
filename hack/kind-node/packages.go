// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// hostPackages are the Debian packages that this machine needs. Each has a file that shows that the package is installed. For docker.io
// this file is dockerd and not docker, because the command docker may come from another package.
var hostPackages = map[string]string{
	"docker.io":      "dockerd",
	"debootstrap":    "debootstrap",
	"iptables":       "iptables",
	"gcc":            "gcc",
	"pkg-config":     "pkg-config",
	"libc6-dev":      "/usr/include/stdio.h",
	"libseccomp-dev": "/usr/include/seccomp.h",
}

// installPackages prints the missing packages, and installs them with apt-get.
func installPackages(ctx context.Context, progress io.Writer) error {
	var missing []string
	for name, file := range hostPackages {
		if !installed(file) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	fmt.Fprintf(progress, "• installing with apt-get: %s\n", strings.Join(missing, " "))
	quiet := []string{"DEBIAN_FRONTEND=noninteractive"}
	if _, err := commandIn(ctx, "", quiet, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	_, err := commandIn(ctx, "", quiet, "apt-get", append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)...)
	return err
}

func installed(file string) bool {
	if strings.HasPrefix(file, "/") {
		_, err := os.Stat(file)
		return err == nil
	}
	_, err := exec.LookPath(file)
	return err == nil
}
