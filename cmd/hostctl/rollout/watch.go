// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// The sequences of a terminal that -w writes: clear the screen, go to its first cell, and clear what an earlier frame left.
const (
	clearScreen = "\x1b[2J"
	toTheTop    = "\x1b[H"
	clearRest   = "\x1b[J"
	clearLine   = "\x1b[K\n"
)

// watch prints the rollout with every change, until it is complete or stands still for good. It polls, so that an API server that
// restarts meanwhile does not end it.
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
		case !isTransient(err):
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

// isOver reports whether nothing more happens without a person. A rollout that waits for an approval is not over: -w goes on, and
// shows what the approval does.
func (p *progress) isOver() bool { return p.State == v1alpha1.RolloutComplete || p.isStopped() }

// isTransient reports whether the same request may succeed later.
func isTransient(err error) bool {
	network := (*url.Error)(nil)
	return errors.As(err, &network) && !errors.Is(err, context.Canceled) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err)
}

// redraw draws each state over the one before. Only the first clears the whole screen, so that the picture does not flicker.
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

// printChanges prints a line for each cluster that has changed, and a line for the rollout.
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
			words := fmt.Sprintf("cluster %s (%s): %s, revision %s", c.Name, where(c), c.State, orDash(c.Revision))
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
		return say("", p.counts()+"; "+p.sentence(time.Time{}))
	}
}

func where(c *clusterLine) string {
	if c.Wave == "" {
		return "being left"
	}
	return "wave " + c.Wave
}
