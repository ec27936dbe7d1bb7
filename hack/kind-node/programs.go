// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// program is a program of the node image. If module is "", its source is in the control planes' module, or, for a program of another
// Kubernetes than that module's, in a module made for it (otherkubernetes.go).
type program struct {
	name            string
	module, version string
	pkg             string
	ldflags, tags   string
	cgo             bool
}

const (
	small         = "-s -w"
	withoutStores = "no_aufs no_zfs no_btrfs no_devmapper"
)

// programs are the programs of the node image, and where they are built.
type programs struct {
	work     workFolder
	root     string // the root of the repository
	given    string // a folder with built programs of the control plane; "" means that they have to be built
	versions versions
	progress io.Writer
}

// all returns all programs, in the order in which they are built.
func (set programs) all() []program {
	component := " -X k8s.io/component-base/version."
	minor, _, _ := strings.Cut(strings.TrimPrefix(set.versions.kubernetes, "v1."), ".")
	// Without these linker flags the API server would report no version, and clients that read it would fail.
	kubernetes := small + component + "gitVersion=" + set.versions.kubernetes + component + "gitMajor=1" + component + "gitMinor=" + minor
	var all []program
	all = append(all, program{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", ldflags: small})
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kube-proxy", "kubeadm", "kubelet"} {
		all = append(all, program{name: name, pkg: "k8s.io/kubernetes/cmd/" + name, ldflags: kubernetes})
	}
	all = append(all,
		program{name: "kindnet", pkg: "./kindnet", ldflags: small},
		program{name: "runc", module: "github.com/opencontainers/runc", version: runcVersion, pkg: ".", tags: "seccomp", cgo: true,
			ldflags: small + " -X main.version=" + strings.TrimPrefix(runcVersion, "v")},
		program{name: "coredns", module: "github.com/coredns/coredns", version: corednsVersion, pkg: ".", tags: "grpcnotrace", ldflags: small},
		program{name: "local-path-provisioner", module: "github.com/rancher/local-path-provisioner", version: provisionerVersion,
			pkg: ".", ldflags: small})
	for _, plugin := range []string{"ipam/host-local", "main/loopback", "main/ptp", "meta/portmap"} {
		all = append(all, program{name: filepath.Base(plugin), module: "github.com/containernetworking/plugins", version: cniVersion,
			pkg: "./plugins/" + plugin, ldflags: small})
	}
	for _, name := range []string{"containerd", "ctr", "containerd-shim-runc-v2"} {
		all = append(all, program{name: name, module: "github.com/containerd/containerd/v2", version: containerdVersion, pkg: "./cmd/" + name,
			tags: withoutStores, ldflags: small + " -X github.com/containerd/containerd/v2/version.Version=" + containerdVersion})
	}
	return append(all, program{name: "crictl", module: "sigs.k8s.io/cri-tools", version: criToolsVersion, pkg: "./cmd/crictl",
		ldflags: small + " -X sigs.k8s.io/cri-tools/pkg/version.Version=" + criToolsVersion})
}

// bin returns the path of a built program. The name of the folder is a digest of the program's inputs, so other inputs give another path.
func (set programs) bin(p program) string {
	h := sha256.New()
	fmt.Fprintf(h, "%+v\n", p)
	if p.module == "" {
		fmt.Fprintln(h, set.versions.kubernetes, set.versions.etcd)
	}
	if own, err := sources.ReadFile("programs/" + p.name + ".go.txt"); err == nil {
		_, _ = h.Write(own)
	}
	return set.work.path("bin", hex.EncodeToString(h.Sum(nil))[:12], p.name)
}

// path returns the path of the built program with this name.
func (set programs) path(name string) string {
	for _, p := range set.all() {
		if p.name == name {
			return set.bin(p)
		}
	}
	panic("no program " + name)
}

// build builds the programs that are not in the work folder yet. It copies a program of the control planes' module from the folder
// set.given instead, if that folder has the program.
func (set programs) build(ctx context.Context) error {
	all := set.all()
	for i, p := range all {
		to := set.bin(p)
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if given := filepath.Join(set.given, p.name); set.given != "" && p.module == "" && !set.isOther(p) {
			if content, err := os.ReadFile(given); err == nil {
				if err := os.WriteFile(to, content, 0o755); err != nil {
					return err
				}
				fmt.Fprintf(set.progress, "  copied %s from %s (%d of %d)\n", p.name, set.given, i+1, len(all))
				continue
			}
		}
		began := time.Now()
		dir, err := set.source(ctx, p)
		if err != nil {
			return fmt.Errorf("laying out the source of %s: %w", p.name, err)
		}
		cgo := "CGO_ENABLED=0"
		if p.cgo {
			cgo = "CGO_ENABLED=1"
		}
		if _, err := goCommand(ctx, dir, []string{cgo}, "build", "-mod="+set.mod(p), "-trimpath", "-tags", p.tags, "-ldflags", p.ldflags, "-o", to+".partial", p.pkg); err != nil {
			return err
		}
		if err := os.Rename(to+".partial", to); err != nil {
			return err
		}
		fmt.Fprintf(set.progress, "  built %s (%d of %d, %s)\n", p.name, i+1, len(all), took(began))
	}
	// Users and the end-to-end suite look for kubectl here. It is that of the sandbox's Kubernetes.
	if set.versions.other {
		return nil
	}
	return install(set.path("kubectl"), set.work.path("kubectl"), 0o755)
}

// source returns a folder with the source of a program. The folder is a copy, because Go's module cache is read-only. The program's
// module is the main module of the build, so the replace directives in its go.mod have an effect.
func (set programs) source(ctx context.Context, p program) (string, error) {
	switch {
	case set.isOther(p):
		return set.otherKubernetes(ctx)
	case p.module == "":
		return set.controlPlanesSource()
	}
	dir := set.work.path("src", filepath.Base(strings.TrimSuffix(p.module, "/v2"))+"@"+p.version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	from, err := download(ctx, p.module, p.version)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir + ".partial"); err != nil {
		return "", err
	}
	if err := copyWritable(dir+".partial", from); err != nil {
		return "", err
	}
	if err := os.RemoveAll(filepath.Join(dir+".partial", "vendor")); err != nil {
		return "", err
	}
	if own, err := sources.ReadFile("programs/" + p.name + ".go.txt"); err == nil {
		if err := os.WriteFile(filepath.Join(dir+".partial", p.name+".go"), own, 0o644); err != nil {
			return "", err
		}
	}
	return dir, os.Rename(dir+".partial", dir)
}

// controlPlanesSource writes the control planes' module into a folder, under the file names that Go needs, and adds the source of kindnet.
func (set programs) controlPlanesSource() (string, error) {
	dir := set.work.path("src", "control-planes")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	module := os.DirFS(filepath.Join(set.root, filepath.FromSlash(controlPlanesModule)))
	write := func(to string, content []byte) error {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	}
	err := fs.WalkDir(module, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(module, path)
		if err != nil {
			return err
		}
		return write(filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(path, ".txt"))), content)
	})
	if err != nil {
		return "", err
	}
	kindnet, err := sources.ReadFile("programs/kindnet.go.txt")
	if err != nil {
		return "", err
	}
	return dir, write(filepath.Join(dir, "kindnet", "main.go"), kindnet)
}

// copyWritable copies a folder of Go's module cache. Unlike the original, the copy is writable.
func copyWritable(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}
