// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// toolPackages are the Debian packages of iptables, nftables, conntrack and busybox, and of the libraries that these need. Their files
// go into the images of pods that set up the network or the storage.
var toolPackages = []string{
	"libc6", "libgcc-s1", "gcc-12-base", "iptables", "nftables", "libxtables12", "libip4tc2", "libip6tc2", "libnftables1", "libnftnl11", "libmnl0",
	"libnfnetlink0", "libnetfilter-conntrack3", "libgmp10", "libjansson4", "libedit2", "libtinfo6", "libbsd0", "libmd0", "conntrack", "busybox-static",
}

// layOutTools unpacks toolPackages into the folder base. debootstrap has downloaded the packages into the root file system rootFS.
func layOutTools(ctx context.Context, base, rootFS string) error {
	if err := os.RemoveAll(base); err != nil {
		return err
	}
	for _, dir := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/local/bin", "etc/ssl/certs", "run", "var", "root"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(base, "tmp"), 0o1777); err != nil {
		return err
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, filepath.Join(base, dir)); err != nil {
			return err
		}
	}
	for _, name := range toolPackages {
		found, err := filepath.Glob(filepath.Join(rootFS, "var/cache/apt/archives", name+"_*.deb"))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("debootstrap left no package %s", name)
		}
		if err := unpack(ctx, found[0], base); err != nil {
			return err
		}
	}
	for _, unneeded := range []string{"usr/share", "usr/include"} {
		if err := os.RemoveAll(filepath.Join(base, unneeded)); err != nil {
			return err
		}
	}
	// These links make the commands iptables, ip6tables and their variants. On Debian they appear when the package is configured, but these
	// packages are only unpacked. kindnet calls iptables. kube-proxy calls iptables and ip6tables.
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
		link := filepath.Join(base, "usr/sbin", name)
		if err := os.RemoveAll(link); err != nil {
			return err
		}
		if err := os.Symlink("xtables-nft-multi", link); err != nil {
			return err
		}
	}
	for _, name := range []string{"sh", "mkdir", "rm", "ls", "cat", "sleep", "chmod", "cp", "mv", "test", "true"} {
		if err := os.Symlink("busybox", filepath.Join(base, "usr/bin", name)); err != nil {
			return err
		}
	}
	for file, content := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n", "etc/nsswitch.conf": "hosts: files dns\n",
	} {
		if err := os.WriteFile(filepath.Join(base, file), []byte(content), 0o644); err != nil {
			return err
		}
	}
	roots, err := os.ReadFile(filepath.Join(rootFS, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(base, "etc/ssl/certs/ca-certificates.crt"), roots, 0o644)
}

// unpack writes the files of a Debian package into a folder. In this folder /bin is a link, as in every Debian with a merged /usr, but
// some packages have a folder /bin. `dpkg-deb --extract` would replace the link by that folder, and /bin/sh would be gone.
func unpack(ctx context.Context, deb, to string) error {
	files := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb)
	tar := exec.CommandContext(ctx, "tar", "--extract", "--keep-directory-symlink", "--preserve-permissions", "--directory", to)
	var filesSaid, tarSaid bytes.Buffer
	files.Stderr, tar.Stderr = &filesSaid, &tarSaid
	pipe, err := files.StdoutPipe()
	if err != nil {
		return err
	}
	tar.Stdin = pipe
	if err := files.Start(); err != nil {
		return err
	}
	err = tar.Run()
	_ = pipe.Close() // if tar has failed, dpkg-deb would wait for a reader for ever
	if err = errors.Join(err, files.Wait()); err != nil {
		return fmt.Errorf("unpacking %s: %w\n%s%s", deb, err, filesSaid.String(), tarSaid.String())
	}
	return nil
}
