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
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// options are the values of the command's flags.
type options struct {
	provider string
	name     string
	old, new string // folders with the programs of a version
	keep     bool
}

func main() {
	o := options{}
	flag.StringVar(&o.provider, "provider", provider.Sandbox, "sandbox, in which the programs are processes, or kind, in which they are pods.")
	flag.StringVar(&o.name, "name", "skew", "The name of the sandbox, which is taken down first if it exists. The clusters of kind are fairlead-NAME-*.")
	flag.StringVar(&o.old, "old", "", "The folder with hostctl, manager and collector of the old version.")
	flag.StringVar(&o.new, "new", "bin", "The folder with those of the new version.")
	flag.BoolVar(&o.keep, "keep", false, "Leave the clusters up.")
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
	var i installation
	switch o.provider {
	case provider.Sandbox:
		i, err = newProcessFleet(ctx, o.name, versions)
	case provider.Kind:
		i, err = newKindFleet(o.name, versions)
	default:
		err = fmt.Errorf("provider %s does not exist: use %s or %s", o.provider, provider.Sandbox, provider.Kind)
	}
	if err != nil {
		return err
	}
	p := progress.New(os.Stderr)
	err = goThrough(ctx, i, p)
	return errors.Join(err, i.down(context.WithoutCancel(ctx), o.keep, p))
}

// goThrough goes through all stages, and prints a line for each.
func goThrough(ctx context.Context, on installation, p *progress.Printer) error {
	f := &fleet{installation: on}
	for i, s := range stages {
		step := p.Step("stage %d of %d, %s", i+1, len(stages), s)
		up := func(ctx context.Context) error { return on.start(ctx, s, p) }
		goOn := f.change
		if i == 0 {
			goOn = f.start
		}
		found, err := goOn(ctx, up, step)
		if err != nil {
			step.Fail(err)
			f.saveFailure(ctx, err, p)
			return fmt.Errorf("stage %d (%s): %w", i+1, s, err)
		}
		step.Donef("stage %d of %d, %s: %s", i+1, len(stages), s, found)
	}
	return nil
}
