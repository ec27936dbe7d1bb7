// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// builder builds one node image.
type builder struct {
	root          string // the root of the repository
	work          workFolder
	controlPlanes string // a folder with built programs of the control plane; "" means that they have to be built
	kubernetes    string // the version of Kubernetes; "" means that of the control planes' module
	progress      io.Writer
}

// workFolder is the folder in which the steps keep their results.
type workFolder string

// path returns the path of a file in the folder.
func (w workFolder) path(elements ...string) string {
	return filepath.Join(append([]string{string(w)}, elements...)...)
}

// node returns the folder of the node's files: the root file system, the files of kind's base image, and the programs.
func (w workFolder) node() string { return w.path("node") }

// tools returns the folder with the files of the packages in toolPackages.
func (w workFolder) tools() string { return w.path("tools") }

// rootFS returns the folder of the root file system. Its name has a digest of the constant suite and of nodePackages, so other inputs
// give another folder.
func (w workFolder) rootFS() string {
	h := sha256.Sum256([]byte(suite + strings.Join(nodePackages, ",")))
	return w.path("rootfs-" + hex.EncodeToString(h[:])[:12])
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	flags := flag.NewFlagSet("kind-node", flag.ContinueOnError)
	root := flags.String("root", ".", "The root of the repository.")
	work := flags.String("work", "", "The work folder (default: fairlead/kind-node in the user's cache folder).")
	controlPlanes := flags.String("control-planes", "", "A folder with built "+
		"kube-apiserver, kube-controller-manager, kube-scheduler and etcd, which are then not built again.")
	kubernetes := flags.String("kubernetes", "", "The release of Kubernetes in the image, for example v1.35.4 (default: that of the sandbox).")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *work == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("looking for the cache folder: %w", err)
		}
		*work = filepath.Join(cache, "fairlead", "kind-node")
	}
	b := &builder{root: *root, work: workFolder(*work), controlPlanes: *controlPlanes, kubernetes: *kubernetes, progress: progress}
	if err := os.MkdirAll(*work, 0o755); err != nil {
		return err
	}
	began := time.Now()
	image, err := b.build(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "✓ %s (%s)\n", image, took(began))
	return nil
}

// build runs all steps, and returns the name of the image. A step does nothing if an earlier run has left its result.
func (b *builder) build(ctx context.Context) (image string, err error) {
	machine, err := thisMachine(string(b.work))
	if err != nil {
		return "", err
	}
	if err := machine.check(); err != nil {
		return "", err
	}
	fmt.Fprintf(b.progress, "• %s; results stay in %s\n", machine, b.work)
	versions, err := readVersions(ctx, b.root, b.kubernetes)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(b.progress, "• %s\n", versions)
	if err := raiseInotify(inotifyFolder, b.progress); err != nil {
		return "", err
	}
	if err := installPackages(ctx, b.progress); err != nil {
		return "", err
	}
	if err := startEngine(ctx, b.work, machine.capSysResource, b.progress); err != nil {
		return "", err
	}
	inputs, err := inputsOf(b.root, versions)
	if err != nil {
		return "", err
	}
	if loaded(ctx, versions.nodeImage(), inputs) {
		fmt.Fprintln(b.progress, "• the engine already has an image that was built from the same sources")
		return versions.nodeImage(), nil
	}
	programs := programs{work: b.work, root: b.root, given: b.controlPlanes, versions: versions, progress: b.progress}
	node := node{dir: b.work.node(), rootFS: b.work.rootFS(), versions: versions, program: programs.path}
	pods := podImages{work: b.work, versions: versions, program: programs.path, progress: b.progress}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"building the programs", programs.build},
		{"making the root file system from Debian's packages", func(ctx context.Context) error { return makeRootFS(ctx, b.work.rootFS(), b.progress) }},
		{"laying out the node's files", node.layOut},
		{"making the pods' images", pods.store},
		{"loading the node image", func(ctx context.Context) error { return node.load(ctx, b.work.path("node-image.tar"), inputs) }},
	} {
		began := time.Now()
		fmt.Fprintf(b.progress, "• %s\n", step.what)
		if err := step.do(ctx); err != nil {
			return "", fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Fprintf(b.progress, "✓ %s (%s)\n", step.what, took(began))
	}
	return versions.nodeImage(), nil
}

func took(since time.Time) string { return time.Since(since).Round(time.Second).String() }
