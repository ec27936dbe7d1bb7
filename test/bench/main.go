// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
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

// options are the values of the command's flags.
type options struct {
	name, programs, out, profiles, peer string
	works                               []string
	objects                             int
	keep                                bool
}

func main() {
	sandbox.SuperviseIfAsked()
	playAPartIfAsked()
	o := options{}
	works := flag.String("works", "", "The works to do, for example W1,W3,idle; all of them when empty. W2 to W5 need the objects of W1, so the bench then does W1 too.")
	flag.StringVar(&o.name, "name", "bench", "The name of the sandbox. The bench takes an existing sandbox of that name down, and makes a new one.")
	flag.StringVar(&o.programs, "programs", "bin", "The folder with Fairlead's programs.")
	flag.StringVar(&o.out, "out", "", "A file for the figures, as one JSON object; it is not written when empty.")
	flag.StringVar(&o.profiles, "profiles", "", "A folder for profiles of the manager and of API servers; if empty, the bench takes no profiles.")
	flag.IntVar(&o.objects, "objects", wholeObjects, "How many objects W1 delivers. The goals are for 1000; with another number the run is only a trial.")
	flag.StringVar(&o.peer, "peer", "", "A peer to measure beside Fairlead: "+strings.Join(peers, ", ")+". None when empty.")
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

// check returns an error for flags that make no sense, before any work begins.
func (o *options) check() error {
	for _, name := range o.works {
		if name != idleWork && !slices.ContainsFunc(works, func(w benchWork) bool { return w.name == name }) {
			return fmt.Errorf("WORKS: there is no work %q; the works are W1 to W7, far, trouble, rest, floor and %s", name, idleWork)
		}
	}
	if o.objects < 10 {
		return fmt.Errorf("OBJECTS: %d is too small for a meaningful result; give 10 or more", o.objects)
	}
	if err := o.checkPeer(); err != nil {
		return err
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
	var peer federation
	if o.peer != "" {
		if peer, err = buildPeer(ctx, p); err != nil {
			return err
		}
	}
	readings := make(map[string]*reading)
	if o.wants(idleWork) {
		if readings[idleWork], err = holdIdle(ctx, p); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(works, func(w benchWork) bool { return o.wants(w.name) }) {
		if err := runOnBed(ctx, o, fairlead{besidePeer: peer != nil}, p, readings); err != nil {
			return err
		}
	}
	if err := errors.Join(table(os.Stdout, readings, o.objects), write(o.out, figures(o.objects, readings, nil))); err != nil || peer == nil {
		return err
	}
	return runPeer(ctx, o, peer, p, readings)
}

// runPeer runs the works of a peer on a sandbox of its own, and prints its figures beside Fairlead's. Fairlead's sandbox does not run
// meanwhile: two sandboxes on one machine would distort the figures.
func runPeer(ctx context.Context, o options, peer federation, p *progress.Printer, ours map[string]*reading) error {
	o.name += "-" + o.peer
	if o.profiles != "" {
		o.profiles = filepath.Join(o.profiles, o.peer)
		if err := os.MkdirAll(o.profiles, 0o750); err != nil {
			return err
		}
	}
	o.works = slices.DeleteFunc(peerWorks(), func(name string) bool { return !o.wants(name) })
	p.Note("%s is measured next: the same works, on a sandbox of its own", peer.name())
	theirs := make(map[string]*reading)
	if err := runOnBed(ctx, o, peer, p, theirs); err != nil {
		return fmt.Errorf("%s: %w", peer.name(), err)
	}
	_, _ = fmt.Fprintln(os.Stdout) // an error appears again at the next write to stdout
	both := besides{ours: ours, theirs: theirs, peer: peer.name(), objects: o.objects, lacking: lackingIn(ours)}
	return errors.Join(both.print(os.Stdout), write(o.out, figures(o.objects, ours, theirs)))
}

// runOnBed starts a sandbox and runs the works that need clusters on it.
func runOnBed(ctx context.Context, o options, f federation, p *progress.Printer, readings map[string]*reading) (err error) {
	if !o.keep {
		defer func() {
			_, downErr := sandbox.Down(context.WithoutCancel(ctx), o.name)
			if err == nil {
				err = downErr
			}
		}()
	}
	b, err := makeBed(ctx, o, f, p)
	if err != nil {
		return err
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

// figures returns the content of the file that -out names: the machine, the number of objects, whether the goals apply to the figures,
// and the reading of each work by its name. The readings of a peer are under "peer".
func figures(objects int, ours, theirs map[string]*reading) map[string]any {
	all := map[string]any{"machine": machine(), "objects": objects, "comparable": objects == wholeObjects}
	for name, r := range ours {
		all[name] = r
	}
	if theirs != nil {
		all["peer"] = theirs
	}
	return all
}

// write writes the figures in the argument all as JSON to a file. An empty path means that no file is wanted.
func write(path string, all map[string]any) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
