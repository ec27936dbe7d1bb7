// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// suite is the release of Debian, the same as this machine's: programs that use C link to its libraries.
const suite = "bookworm"

// nodePackages are Debian's packages in the node, besides those of a minimal system. busybox-static is for the pods' images.
var nodePackages = []string{
	"systemd", "dbus", "conntrack", "iptables", "nftables", "iproute2", "ethtool", "socat", "util-linux", "mount", "kmod", "libseccomp2",
	"pigz", "e2fsprogs", "bash", "ca-certificates", "curl", "jq", "procps", "hostname", "busybox-static",
}

// rootFS is the folder of the file system that debootstrap makes. Its name has the packages.
func (b *builder) rootFS() string {
	h := sha256.Sum256([]byte(suite + strings.Join(nodePackages, ",")))
	return filepath.Join(b.work, "rootfs-"+hex.EncodeToString(h[:])[:12])
}

// makeRootFS makes it, unless an earlier run did.
func (b *builder) makeRootFS(ctx context.Context) error {
	if _, err := os.Stat(b.rootFS()); err == nil {
		return nil
	}
	mirror, err := mirrorOf(ctx)
	if err != nil {
		return err
	}
	partial := b.rootFS() + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "  debootstrap %s from %s\n", suite, mirror)
	if _, err := command(ctx, "debootstrap", "--variant=minbase", "--include="+strings.Join(nodePackages, ","), suite, partial, mirror); err != nil {
		return err
	}
	for _, unneeded := range []string{"var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"} {
		if err := os.RemoveAll(filepath.Join(partial, unneeded)); err != nil {
			return err
		}
	}
	return os.Rename(partial, b.rootFS())
}

// mirrorOf returns the mirror of Debian that apt uses.
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
	return "", errors.New("apt has no mirror of Debian: look at /etc/apt/sources.list")
}
