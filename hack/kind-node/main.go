// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
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
	work          string // the folder in which the steps keep their results
	controlPlanes string // a folder with built programs of the control plane; "" means that they have to be built
	progress      io.Writer

	// Method build sets these before its first step.
	machine  machine
	versions versions
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	flags := flag.NewFlagSet("kind-node", flag.ContinueOnError)
	root := flags.String("root", ".", "The root of the repository.")
	work := flags.String("work", "", "The work folder (default: fairlead/kind-node in the user's cache folder).")
	controlPlanes := flags.String("control-planes", "", "A folder with built "+
		"kube-apiserver, kube-controller-manager, kube-scheduler and etcd, which are then not built again.")
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
	b := &builder{root: *root, work: *work, controlPlanes: *controlPlanes, progress: progress}
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		return err
	}
	began := time.Now()
	if err := b.build(ctx); err != nil {
		return err
	}
	fmt.Fprintf(progress, "✓ %s (%s)\n", b.versions.nodeImage(), took(began))
	return nil
}

// build runs all steps. A step does nothing if an earlier run has left its result.
func (b *builder) build(ctx context.Context) error {
	var err error
	if b.machine, err = thisMachine(b.work); err != nil {
		return err
	}
	if err := b.machine.check(); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "• %s; results stay in %s\n", b.machine, b.work)
	if b.versions, err = readVersions(ctx, b.root); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "• %s\n", b.versions)
	if err := b.installPackages(ctx); err != nil {
		return err
	}
	if err := b.startEngine(ctx); err != nil {
		return err
	}
	inputs, err := b.inputs()
	if err != nil {
		return err
	}
	if b.loaded(ctx, inputs) {
		fmt.Fprintln(b.progress, "• the engine has an image that was built from the same sources already")
		return nil
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"building the programs", b.buildPrograms},
		{"making the root file system from Debian's packages", b.makeRootFS},
		{"laying out the node's files", b.layOutNode},
		{"making the pods' images", b.storePodImages},
		{"loading the node image", func(ctx context.Context) error { return b.loadNodeImage(ctx, inputs) }},
	} {
		began := time.Now()
		fmt.Fprintf(b.progress, "• %s\n", step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Fprintf(b.progress, "✓ %s (%s)\n", step.what, took(began))
	}
	return nil
}

func took(since time.Time) string { return time.Since(since).Round(time.Second).String() }
