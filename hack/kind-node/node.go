// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// node is the file system of a node.
type node struct {
	dir      string // the folder of the node's files
	rootFS   string // the folder of the root file system
	versions versions
	program  func(name string) string // returns the path of a built program
}

// layOut writes the node's files. It replaces two parts of kind, and uses the same files as they do: the Dockerfile of kind's base image,
// and the build of a node image.
func (n node) layOut(ctx context.Context) error {
	if err := os.RemoveAll(n.dir); err != nil {
		return err
	}
	if _, err := command(ctx, "cp", "--archive", "--reflink=auto", n.rootFS, n.dir); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(n.dir, "var/cache/apt")); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{n.copyKindFiles, n.setUpSystemd, n.installPrograms, n.writeRuntimeSpec, n.writeManifests} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// copyKindFiles copies the files of kind's base image, and changes some of their settings for this image.
func (n node) copyKindFiles(context.Context) error {
	from := filepath.Join(n.versions.kindDir, "images", "base", "files")
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(relative, "fuse-overlayfs.service") { // only an engine without root needs this unit
			return nil
		}
		mode := os.FileMode(0o644)
		if strings.Contains(filepath.Dir(relative), "bin") {
			mode = 0o755
		}
		return install(path, filepath.Join(n.dir, relative), mode)
	})
	if err != nil {
		return err
	}
	// Without CAP_SYS_RESOURCE no process can lower an OOM score. With this setting, containerd takes the lowest score that it
	// is allowed to set.
	config := filepath.Join(n.dir, "etc/containerd/config.toml")
	content, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	was, is := []byte("restrict_oom_score_adj = false"), []byte("restrict_oom_score_adj = true")
	if !bytes.Contains(content, was) {
		return fmt.Errorf("containerd's configuration in kind %s has no %q", n.versions.kind, was)
	}
	if err := os.WriteFile(config, bytes.Replace(content, was, is, 1), 0o644); err != nil {
		return err
	}
	// On cgroup v1, the kubelet does not run without this flag. On cgroup v2 the flag has no effect.
	kubelet := filepath.Join(n.dir, "etc/default/kubelet")
	if content, err = os.ReadFile(kubelet); err != nil {
		return err
	}
	content = []byte(strings.TrimRight(string(content), "\n") + " --fail-cgroupv1=false\n")
	return os.WriteFile(kubelet, content, 0o644)
}

// unwantedUnits are systemd units that a container does not need: they set up a whole machine.
var unwantedUnits = []string{
	"lib/systemd/system/multi-user.target.wants/*", "etc/systemd/system/*.wants/*", "lib/systemd/system/local-fs.target.wants/*",
	"lib/systemd/system/sockets.target.wants/*udev*", "lib/systemd/system/sockets.target.wants/*initctl*",
	"lib/systemd/system/basic.target.wants/*", "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
}

func (n node) setUpSystemd(ctx context.Context) error {
	for _, pattern := range unwantedUnits {
		found, err := filepath.Glob(filepath.Join(n.dir, pattern))
		if err != nil {
			return err
		}
		for _, unit := range found {
			if err := os.Remove(unit); err != nil {
				return err
			}
		}
	}
	journal, err := os.OpenFile(filepath.Join(n.dir, "etc/systemd/journald.conf"), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = journal.WriteString("ReadKMsg=no\n")
	if closing := journal.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	init := filepath.Join(n.dir, "usr/sbin/init")
	if err := os.RemoveAll(init); err != nil {
		return err
	}
	if err := os.Symlink("/usr/lib/systemd/systemd", init); err != nil {
		return err
	}
	if _, err := command(ctx, "chroot", n.dir, "systemctl", "enable", "kubelet.service", "containerd.service", "undo-mount-hacks.service"); err != nil {
		return err
	}
	_, err = command(ctx, "chroot", n.dir, "systemctl", "mask", "systemd-binfmt.service")
	return err
}

func (n node) installPrograms(context.Context) error {
	for dir, names := range map[string][]string{
		"usr/bin":        {"kubeadm", "kubelet", "kubectl"},
		"usr/local/bin":  {"containerd", "ctr", "containerd-shim-runc-v2", "crictl"},
		"usr/local/sbin": {"runc"},
		"opt/cni/bin":    {"host-local", "loopback", "ptp", "portmap"},
	} {
		for _, name := range names {
			if err := install(n.program(name), filepath.Join(n.dir, dir, name), 0o755); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{"etc/cni/net.d", "etc/kubernetes/manifests", "kind/manifests"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(n.dir, "kind/version"), []byte(n.versions.kubernetes), 0o644)
}

// writeRuntimeSpec writes the OCI specification that containerd uses for every container: containerd's default, with kind's hook.
func (n node) writeRuntimeSpec(ctx context.Context) error {
	printed, err := command(ctx, n.program("ctr"), "oci", "spec")
	if err != nil {
		return err
	}
	spec := map[string]any{}
	if err := json.Unmarshal([]byte(printed), &spec); err != nil {
		return fmt.Errorf("reading the specification that ctr printed: %w", err)
	}
	spec["hooks"] = map[string]any{"createContainer": []any{map[string]any{"path": "/kind/bin/mount-product-files.sh"}}}
	if process, ok := spec["process"].(map[string]any); ok {
		delete(process, "rlimits")
	}
	content, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.dir, "etc/containerd/cri-base.json"), content, 0o644)
}

// writeManifests writes the manifests that kind applies to a new cluster. kind's source has them as constants.
func (n node) writeManifests(context.Context) error {
	constants, err := readConstants(filepath.Join(n.versions.kindDir, "pkg", "build", "nodeimage"))
	if err != nil {
		return err
	}
	for file, constant := range map[string]string{"default-cni.yaml": "defaultCNIManifest", "default-storage.yaml": "defaultStorageManifest"} {
		manifest := constants[constant]
		if manifest == "" {
			return fmt.Errorf("kind %s has no constant %s", n.versions.kind, constant)
		}
		if err := os.WriteFile(filepath.Join(n.dir, "kind/manifests", file), []byte(manifest), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// load packs the node's files as an image, and loads the image into the engine. archive is the path of the packed image, and inputs the
// digest of everything from which it was built.
func (n node) load(ctx context.Context, archive, inputs string) error {
	image, err := withFolder(empty.Image, n.dir)
	if err != nil {
		return err
	}
	image, err = configured(image, v1.Config{
		Env:        []string{"container=docker", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		StopSignal: "SIGRTMIN+3", // at this signal systemd shuts down; at SIGTERM it would restart itself
		Labels:     map[string]string{inputsLabel: inputs, "org.opencontainers.image.version": n.versions.kubernetes},
	})
	if err != nil {
		return err
	}
	tag, err := name.NewTag(n.versions.nodeImage())
	if err != nil {
		return err
	}
	if err := tarball.WriteToFile(archive, tag, image); err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	if _, err := command(ctx, "docker", "load", "--quiet", "--input", archive); err != nil {
		return err
	}
	return os.Remove(n.dir + ".tar") // the archive of the image has the same files, so remove this one
}
