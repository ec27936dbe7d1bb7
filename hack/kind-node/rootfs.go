// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// suite is the release of Debian in the node. It has to be the release on this machine: programs with C code link to this machine's libraries.
const suite = "bookworm"

// nodePackages are the Debian packages in the node besides those of a minimal system. busybox-static is in the list because the pods'
// images need it: see toolPackages.
var nodePackages = []string{
	"systemd", "dbus", "conntrack", "iptables", "nftables", "iproute2", "ethtool", "socat", "util-linux", "mount", "kmod", "libseccomp2",
	"pigz", "e2fsprogs", "bash", "ca-certificates", "curl", "jq", "procps", "hostname", "busybox-static",
}

// makeRootFS makes the root file system in a folder with debootstrap, unless an earlier run has made it.
func makeRootFS(ctx context.Context, dir string, progress io.Writer) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	mirror, err := mirrorOf(ctx)
	if err != nil {
		return err
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	fmt.Fprintf(progress, "  debootstrap %s from %s\n", suite, mirror)
	if _, err := command(ctx, "debootstrap", "--variant=minbase", "--include="+strings.Join(nodePackages, ","), suite, partial, mirror); err != nil {
		return err
	}
	for _, unneeded := range []string{"var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"} {
		if err := os.RemoveAll(filepath.Join(partial, unneeded)); err != nil {
			return err
		}
	}
	return os.Rename(partial, dir)
}

// mirrorOf returns the URL of the Debian mirror in apt's configuration.
func mirrorOf(ctx context.Context) (string, error) {
	sites, err := command(ctx, "apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages")
	if err != nil {
		return "", err
	}
	for site := range strings.Lines(sites) {
		if site = strings.TrimSpace(site); site != "" && !strings.Contains(site, "security") {
			return site, nil
		}
	}
	return "", errors.New("apt has no mirror of Debian: add one to /etc/apt/sources.list")
}
