// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// These are the terminal sequences that -w writes. clearLine clears the rest of the line and ends the line. clearRest clears
// the rest of the screen.
const (
	clearScreen = "\x1b[2J"
	toTheTop    = "\x1b[H"
	clearRest   = "\x1b[J"
	clearLine   = "\x1b[K\n"
)

// watch prints the rollout at every change until it is complete or stopped. It polls the API server: a watch would end when the API server
// restarts.
func (o *StatusOptions) watch(ctx context.Context) error {
	draw := o.printChanges()
	if o.OnTerminal() {
		draw = o.redraw()
	}
	var last *progress
	silent := false
	for {
		p, err := o.read(ctx)
		switch {
		case err == nil:
			last, silent = p, false
			if err := draw(p); err != nil {
				return err
			}
			if p.isOver() {
				return p.exitCode()
			}
		case !connect.IsTransient(err):
			return err
		case !silent:
			silent = true
			_, _ = fmt.Fprintf(o.ErrOut, "• the host does not answer, hostctl tries again: %s\n", plain.Error(err))
		}
		if err := o.Pause(ctx); err != nil {
			if last != nil && last.WaitsForPerson {
				return exit.Silently(exit.Waits)
			}
			return err
		}
	}
}

// isOver reports whether -w has nothing more to show. A rollout is over when it is complete or stopped, but not while it waits for an
// approval: the user wants to see what follows the approval. Without a rollout, the change is over when the wrapper is Ready or Stalled.
func (p *progress) isOver() bool {
	return p.State == v1alpha1.RolloutComplete || p.isStopped() || p.Ready == metav1.ConditionTrue || p.stalled
}

// redraw returns a function that draws a state over the previous one. Only its first call clears the whole screen: clearing it each time
// would flicker.
func (o *StatusOptions) redraw() func(*progress) error {
	begin := clearScreen
	return func(p *progress) error {
		text, err := p.text(o.Now(), true)
		if err != nil {
			return err
		}
		text = begin + toTheTop + strings.ReplaceAll(text, "\n", clearLine) + clearRest
		begin = ""
		_, err = io.WriteString(o.Out, text)
		return err
	}
}

// printChanges returns a function that prints what has changed since its last call: a line for each member, for each Subscription with
// `approve: Latest`, and for the rollout as a whole.
func (o *StatusOptions) printChanges() func(*progress) error {
	before := make(map[string]string)
	say := func(subject, words string) error {
		if before[subject] == words {
			return nil
		}
		before[subject] = words
		_, err := fmt.Fprintf(o.Out, "%s %s\n", o.Now().UTC().Format(time.RFC3339), words)
		return err
	}
	return func(p *progress) error {
		for i := range p.Clusters {
			c := &p.Clusters[i]
			words := fmt.Sprintf("cluster %s%s: %s, revision %s", c.Name, where(c), c.State, orDash(c.Revision))
			if c.Version != "" {
				words += ", version " + c.Version
			}
			if c.Reason != "" {
				words += " (" + c.Reason + ")"
			}
			if err := say("cluster "+c.Name, words); err != nil {
				return err
			}
		}
		for i := range p.Versions {
			if err := say("Subscription "+p.Versions[i].Name, strings.TrimSuffix(versionWords(&p.Versions[i], time.Time{}), "\n")); err != nil {
				return err
			}
		}
		return say("", p.counts()+"; "+p.sentence(time.Time{}))
	}
}

func where(c *clusterLine) string {
	switch {
	case c.leaving:
		return " (the wrapper leaves it)"
	case c.Wave != "":
		return " (wave " + c.Wave + ")"
	}
	return ""
}
