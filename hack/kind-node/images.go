// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
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

// podImage describes one of the pods' images: a folder of files, and a program on top of it.
type podImage struct {
	reference string
	base      string // the path of the folder; "" means no files
	program   string // the name of the program; "" means none
	started   bool   // true if the program is the image's entrypoint; if false, the pod's manifest has the command
}

// podImages are the pods' images, and where they are built.
type podImages struct {
	work     workFolder
	versions versions
	program  func(name string) string // returns the path of a built program
	progress io.Writer
}

// list returns the pods' images. Their names are those that kubeadm, containerd and kind's manifests use.
func (p podImages) list(ctx context.Context) ([]podImage, error) {
	listed, err := command(ctx, p.program("kubeadm"), "config", "images", "list", "--kubernetes-version", p.versions.kubernetes)
	if err != nil {
		return nil, err
	}
	constants, err := readConstants(filepath.Join(p.versions.kindDir, "pkg", "build", "nodeimage"))
	if err != nil {
		return nil, err
	}
	pause, err := sandboxImage(p.work.node(), p.versions.kind)
	if err != nil {
		return nil, err
	}
	tools := p.work.tools()
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

// sandboxImage returns the image of a pod's sandbox container (pause) that containerd's configuration names. node is the folder of the
// node's files. kind is the version of kind from which the configuration comes; the error names it.
func sandboxImage(node, kind string) (string, error) {
	config, err := os.ReadFile(filepath.Join(node, "etc/containerd/config.toml"))
	if err != nil {
		return "", err
	}
	found := sandboxImageLine.FindSubmatch(config)
	if found == nil {
		return "", fmt.Errorf("containerd's configuration in kind %s names no sandbox_image", kind)
	}
	return string(found[1]), nil
}

// compilePause builds pause from the source of Kubernetes. pause is the program of every pod's sandbox container.
func (p podImages) compilePause(ctx context.Context) (string, error) {
	kubernetes, err := download(ctx, "k8s.io/kubernetes", p.versions.kubernetes)
	if err != nil {
		return "", err
	}
	to := p.work.path("bin", "pause")
	_, err = command(ctx, "gcc", "-Os", "-static", "-s", "-DVERSION="+p.versions.kubernetes, "-o", to, filepath.Join(kubernetes, "build/pause/linux/pause.c"))
	return to, err
}

// store builds the pods' images and imports them into the store of the node's containerd. To import, it runs that containerd on this machine, with
// the store in the folder of the node's files.
func (p podImages) store(ctx context.Context) error {
	if err := layOutTools(ctx, p.work.tools(), p.work.rootFS()); err != nil {
		return fmt.Errorf("unpacking the tools: %w", err)
	}
	pause, err := p.compilePause(ctx)
	if err != nil {
		return err
	}
	images, err := p.list(ctx)
	if err != nil {
		return err
	}
	all := map[name.Tag]v1.Image{}
	bases := map[string]v1.Image{"": empty.Image}
	for _, image := range images {
		if _, ok := bases[image.base]; !ok {
			if bases[image.base], err = withFolder(empty.Image, image.base); err != nil {
				return err
			}
		}
		built := bases[image.base]
		config := v1.Config{Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
		if image.program != "" {
			from := pause
			if image.program != "pause" {
				from = p.program(image.program)
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
		fmt.Fprintf(p.progress, "  %s\n", image.reference)
	}
	archive := p.work.path("pods.tar")
	if err := tarball.MultiWriteToFile(archive, all); err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	return p.importInto(ctx, filepath.Join(p.work.node(), "var/lib/containerd"), archive)
}

// importInto imports an archive of images into a containerd store. No containerd may be using the store.
func (p podImages) importInto(ctx context.Context, store, archive string) error {
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
	daemon := exec.CommandContext(running, p.program("containerd"), "--config", config)
	daemon.Cancel = func() error { return daemon.Process.Signal(os.Interrupt) } // an interrupted containerd closes its database
	daemon.WaitDelay = 10 * time.Second
	log, err := os.Create(p.work.path("containerd.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		return err
	}
	ctr := func(args ...string) (string, error) {
		return command(ctx, p.program("ctr"), append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...)
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
