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
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// toolPackages are the Debian packages of iptables, with all its plug-ins and the libraries that it needs. Their files go into the images of pods that set up the
// network.
var toolPackages = []string{
	"libc6", "libgcc-s1", "gcc-12-base", "iptables", "nftables", "libxtables12", "libip4tc2", "libip6tc2", "libnftables1", "libnftnl11", "libmnl0",
	"libnfnetlink0", "libnetfilter-conntrack3", "libgmp10", "libjansson4", "libedit2", "libtinfo6", "libbsd0", "libmd0", "conntrack", "busybox-static",
}

// podImage describes one of the pods' images: a folder of files, and a program on top of it.
type podImage struct {
	reference string
	base      string // the path of the folder; "" means no files
	program   string // the name of the program; "" means none
	started   bool   // true if the program is the image's entrypoint; if false, the pod's manifest has the command
}

// podImages returns the pods' images. Their names are those that kubeadm, containerd and kind's manifests use.
func (b *builder) podImages(ctx context.Context) ([]podImage, error) {
	listed, err := command(ctx, b.binOf("kubeadm"), "config", "images", "list", "--kubernetes-version", b.versions.kubernetes)
	if err != nil {
		return nil, err
	}
	constants, err := readConstants(filepath.Join(b.versions.kindDir, "pkg", "build", "nodeimage"))
	if err != nil {
		return nil, err
	}
	pause, err := b.sandboxImage()
	if err != nil {
		return nil, err
	}
	tools := b.toolsBase()
	images := []podImage{
		{reference: pause, program: "pause", started: true},
		{reference: constants["kindnetdImage"], base: tools, program: "kindnet", started: true},
		{reference: constants["storageProvisionerImage"], program: "local-path-provisioner", started: true},
		{reference: constants["storageHelperImage"], base: tools},
	}
	for reference := range strings.Lines(listed) {
		reference = strings.TrimSpace(reference)
		repository, _, _ := strings.Cut(reference, ":")
		switch program := filepath.Base(repository); program {
		case "pause": // containerd uses the version in its own configuration, not kubeadm's
		case "kube-proxy":
			images = append(images, podImage{reference: reference, base: tools, program: program})
		case "coredns":
			images = append(images, podImage{reference: reference, program: program, started: true})
		default:
			images = append(images, podImage{reference: reference, program: program})
		}
	}
	return images, nil
}

var sandboxImageLine = regexp.MustCompile(`sandbox_image = "([^"]+)"`)

// sandboxImage returns the image for a pod's sandbox container (pause) in containerd's configuration.
func (b *builder) sandboxImage() (string, error) {
	config, err := os.ReadFile(filepath.Join(b.node(), "etc/containerd/config.toml"))
	if err != nil {
		return "", err
	}
	found := sandboxImageLine.FindSubmatch(config)
	if found == nil {
		return "", fmt.Errorf("containerd's configuration in kind %s names no sandbox_image", b.versions.kind)
	}
	return string(found[1]), nil
}

func (b *builder) toolsBase() string { return filepath.Join(b.work, "tools") }

// layOutTools unpacks toolPackages into a folder. debootstrap has downloaded the packages.
func (b *builder) layOutTools(ctx context.Context) error {
	base := b.toolsBase()
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
		found, err := filepath.Glob(filepath.Join(b.rootFS(), "var/cache/apt/archives", name+"_*.deb"))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("debootstrap left no package %s: %w", name, err)
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
	// Without this link there would be no command iptables: Debian sets alternatives when it configures a package, and these
	// packages are only unpacked. kindnet and kube-proxy call iptables, kube-proxy by both names.
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
	roots, err := os.ReadFile(filepath.Join(b.rootFS(), "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(base, "etc/ssl/certs/ca-certificates.crt"), roots, 0o644)
}

// unpack writes the files of a Debian package into a folder. In this folder /bin is a link, as in every Debian with a merged /usr, but some packages have a folder /bin.
// `dpkg-deb --extract` would replace the link by that folder, and /bin/sh would be gone.
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

// compilePause builds pause from the source of Kubernetes. pause is the program of every pod's sandbox container.
func (b *builder) compilePause(ctx context.Context) (string, error) {
	kubernetes, err := download(ctx, "k8s.io/kubernetes", b.versions.kubernetes)
	if err != nil {
		return "", err
	}
	to := filepath.Join(b.work, "bin", "pause")
	_, err = command(ctx, "gcc", "-Os", "-static", "-s", "-DVERSION="+b.versions.kubernetes, "-o", to, filepath.Join(kubernetes, "build/pause/linux/pause.c"))
	return to, err
}

// storePodImages builds the pods' images and imports them into the store of the node's containerd. To import, it runs that containerd on this machine, with
// the store in the folder of the node's files.
func (b *builder) storePodImages(ctx context.Context) error {
	if err := b.layOutTools(ctx); err != nil {
		return fmt.Errorf("unpacking the tools: %w", err)
	}
	pause, err := b.compilePause(ctx)
	if err != nil {
		return err
	}
	images, err := b.podImages(ctx)
	if err != nil {
		return err
	}
	all := map[name.Tag]v1.Image{}
	bases := map[string]v1.Image{"": empty.Image}
	for _, image := range images {
		if _, ok := bases[image.base]; !ok {
			if bases[image.base], err = withFolder(empty.Image, image.base, ""); err != nil {
				return err
			}
		}
		built := bases[image.base]
		config := v1.Config{Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
		if image.program != "" {
			from := pause
			if image.program != "pause" {
				from = b.binOf(image.program)
			}
			if built, err = withFile(built, from, "usr/local/bin/"+image.program); err != nil {
				return err
			}
		}
		if image.started {
			config.Entrypoint = []string{"/usr/local/bin/" + image.program}
		}
		if built, err = configured(built, config); err != nil {
			return err
		}
		tag, err := name.NewTag(image.reference)
		if err != nil {
			return err
		}
		all[tag] = built
		fmt.Fprintf(b.progress, "  %s\n", image.reference)
	}
	archive := filepath.Join(b.work, "pods.tar")
	if err := tarball.MultiWriteToFile(archive, all); err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	return b.importInto(ctx, filepath.Join(b.node(), "var/lib/containerd"), archive)
}

// importInto imports an archive of images into a containerd store. No containerd may be using the store.
func (b *builder) importInto(ctx context.Context, store, archive string) error {
	state, err := os.MkdirTemp("", "kind-node-containerd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	socket, config := filepath.Join(state, "containerd.sock"), filepath.Join(state, "config.toml")
	content := fmt.Sprintf("version = 3\nroot = %q\nstate = %q\n"+
		"disabled_plugins = [\"io.containerd.cri.v1.images\", \"io.containerd.cri.v1.runtime\", \"io.containerd.grpc.v1.cri\", \"io.containerd.nri.v1.nri\"]\n"+
		"[grpc]\naddress = %q\n[ttrpc]\naddress = %q\n", store, filepath.Join(state, "state"), socket, socket+".ttrpc")
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	daemon := exec.CommandContext(running, b.binOf("containerd"), "--config", config)
	daemon.Cancel = func() error { return daemon.Process.Signal(os.Interrupt) } // an interrupted containerd closes its database
	daemon.WaitDelay = 10 * time.Second
	log, err := os.Create(filepath.Join(b.work, "containerd.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		return err
	}
	ctr := func(args ...string) (string, error) {
		return command(ctx, b.binOf("ctr"), append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...)
	}
	for try := 0; ; try++ {
		if _, err = ctr("version"); err == nil {
			break
		}
		if try == 60 {
			return fmt.Errorf("containerd does not answer, see %s: %w", log.Name(), err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	if _, err := ctr("images", "import", "--label=io.cri-containerd.pinned=pinned", "--all-platforms", "--no-unpack", "--digests", archive); err != nil {
		return fmt.Errorf("importing the pods' images: %w", err)
	}
	stop()
	_ = daemon.Wait() // an error is expected: the interrupt has ended containerd
	return nil
}

// configured returns the image with this configuration, and with the architecture of this machine.
func configured(image v1.Image, config v1.Config) (v1.Image, error) {
	written, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file := written.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(image, file)
}
