// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// options are the flags.
type options struct {
	name, programs, out, profiles string
	works                         []string
	objects                       int
	keep                          bool
}

func main() {
	sandbox.SuperviseIfAsked()
	playAPartIfAsked()
	o := options{}
	works := flag.String("works", "", "The works to do, as in W1,W3,idle; all of them when empty. W2 to W5 need W1, which is done for them.")
	flag.StringVar(&o.name, "name", "bench", "The sandbox to measure on; it is made anew.")
	flag.StringVar(&o.programs, "programs", "bin", "The folder with Fairlead's programs.")
	flag.StringVar(&o.out, "out", "", "A file for the figures, as one JSON object; it is not written when empty.")
	flag.StringVar(&o.profiles, "profiles", "", "A folder for CPU and heap profiles of the manager; none are taken when empty.")
	flag.IntVar(&o.objects, "objects", 1000, "How many objects W1 delivers. The goals are for 1000.")
	flag.BoolVar(&o.keep, "keep", false, "Leave the sandbox up.")
	flag.Parse()
	if *works != "" {
		o.works = strings.Split(*works, ",")
	}
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// check returns an error for wrong flags, before any work begins.
func (o *options) check() error {
	for _, name := range o.works {
		if name != idleWork && !slices.ContainsFunc(works, func(w benchWork) bool { return w.name == name }) {
			return fmt.Errorf("WORKS: %q is none of W1 to W7, far, rest, floor and %s", name, idleWork)
		}
	}
	if o.objects < 10 {
		return fmt.Errorf("-objects: %d is less than 10: nothing would be learnt", o.objects)
	}
	for _, path := range []string{filepath.Dir(o.out), o.profiles} {
		if err := os.MkdirAll(path, 0o750); path != "" && err != nil {
			return err
		}
	}
	var err error
	o.programs, err = filepath.Abs(o.programs)
	return err
}

func (o *options) wants(name string) bool { return len(o.works) == 0 || slices.Contains(o.works, name) }

func run(ctx context.Context, o options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	p := progress.New(os.Stderr)
	readings := make(map[string]*reading)
	if o.wants(idleWork) {
		if readings[idleWork], err = holdIdle(ctx, p); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(works, func(w benchWork) bool { return o.wants(w.name) }) {
		if err := runOnBed(ctx, o, p, readings); err != nil {
			return err
		}
	}
	if err := table(os.Stdout, readings, o.objects); err != nil || o.out == "" {
		return err
	}
	return write(o.out, readings)
}

// runOnBed runs the works that need clusters.
func runOnBed(ctx context.Context, o options, p *progress.Printer, readings map[string]*reading) (err error) {
	b, err := makeBed(ctx, o, p)
	if err != nil {
		return err
	}
	if !o.keep {
		defer func() {
			_, downErr := sandbox.Down(context.WithoutCancel(ctx), o.name)
			if err == nil {
				err = downErr
			}
		}()
	}
	needs := slices.ContainsFunc(works, func(w benchWork) bool { return w.afterDelivery && o.wants(w.name) })
	for _, w := range works {
		if !o.wants(w.name) && (w.name != deliverWork || !needs) {
			continue
		}
		b.step = p.Step("%s: %s", w.name, w.what)
		r, err := w.do(ctx, b)
		if err != nil {
			b.step.Fail(err)
			return fmt.Errorf("%s (%s): %w", w.name, w.what, err)
		}
		b.step.Done()
		readings[w.name] = r
	}
	return nil
}

// write writes the figures as JSON.
func write(path string, readings map[string]*reading) error {
	all := map[string]any{"machine": machine()}
	for name, r := range readings {
		all[name] = r
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
