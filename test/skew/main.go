// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// options are the values of the command's flags.
type options struct {
	name     string
	old, new string // folders with the programs of a version
	keep     bool
}

func main() {
	o := options{}
	flag.StringVar(&o.name, "name", "skew", "The name of the sandbox. An existing sandbox of that name is taken down first.")
	flag.StringVar(&o.old, "old", "", "The folder with hostctl, manager and collector of the old version.")
	flag.StringVar(&o.new, "new", "bin", "The folder with those of the new version.")
	flag.BoolVar(&o.keep, "keep", false, "Leave the sandbox up.")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	versions := folders{}
	for version, dir := range map[version]string{oldVersion: o.old, newVersion: o.new} {
		if versions[version], err = filepath.Abs(dir); err != nil {
			return err
		}
		for _, program := range []string{hostctl, manager, collector} {
			if _, err := os.Stat(filepath.Join(versions[version], program)); err != nil {
				return fmt.Errorf("the programs of the %s version: %w", version, err)
			}
		}
	}
	if err := versions.differ(manager); err != nil {
		return err
	}
	if _, err := sandbox.Down(ctx, o.name); err != nil {
		return err
	}
	mixed, err := os.MkdirTemp("", "fairlead-skew-")
	if err != nil {
		return err
	}
	p := progress.New(os.Stderr)
	err = goThrough(ctx, o.name, versions, mixed, p)
	if o.keep {
		p.Note("sandbox %s still runs, with programs from %s", o.name, mixed)
		return err
	}
	_, downErr := sandbox.Down(context.WithoutCancel(ctx), o.name)
	return errors.Join(err, downErr, os.RemoveAll(mixed))
}

// goThrough goes through all stages, and prints a line for each.
func goThrough(ctx context.Context, name string, versions folders, mixed string, p *progress.Printer) error {
	f := &fleet{name: name}
	for i, s := range stages {
		step := p.Step("stage %d of %d, %s", i+1, len(stages), s)
		up := func(ctx context.Context) error {
			return s.start(ctx, name, versions, filepath.Join(mixed, strconv.Itoa(i)))
		}
		goOn := f.change
		if i == 0 {
			goOn = f.start
		}
		found, err := goOn(ctx, up, step)
		if err != nil {
			step.Fail(err)
			return fmt.Errorf("stage %d (%s): %w", i+1, s, err)
		}
		step.Donef("stage %d of %d, %s: %s", i+1, len(stages), s, found)
	}
	return nil
}
