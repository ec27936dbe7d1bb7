// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// pollInterval is the time between two reads of the wrapper with -w.
const pollInterval = 2 * time.Second

// StatusOptions are the flags of `rollout status`.
type StatusOptions struct {
	Target

	Watch  bool
	Output string

	// OnTerminal reports whether standard output is a terminal. If so, -w draws each state over the previous one.
	OnTerminal func() bool
	// Pause waits for pollInterval. It returns an error if the user interrupts the command meanwhile.
	Pause func(context.Context) error

	// wavesNoted is true after the command has told the user that the waves of the members are unknown.
	wavesNoted bool
}

func newStatus(streams genericiooptions.IOStreams) *StatusOptions {
	return &StatusOptions{Target: newTarget(streams), OnTerminal: func() bool { return isTerminal(streams.Out) }, Pause: pause}
}

func newStatusCommand(o *StatusOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status (NAME | cfed/NAME) [-w] [-o json|yaml]",
		Short: "Show how far a change of a wrapper has come",
		Long: `status shows each cluster of a wrapper with its wave, its revision and its state, then how many clusters are updated, and what the
rollout waits for. It reads only the host: the wrapper, and the labels of the MemberClusters for the column WAVE. Without the right to
list MemberClusters the column has dashes. For a wrapper that has no rollout it shows the clusters without waves, and whether the
wrapper is Ready.

With -w it shows every change until the rollout is Complete, Paused or RolledBack; without a rollout, until the wrapper is Ready or
Stalled. On a terminal it draws the table again. In a pipe it prints a line for each change.

Exit codes: 0 if the rollout is Complete or goes on by itself, 4 if it waits for a person: for the approval of a wave, because the
wrapper is suspended, because the rollout has failed, or because clusters are Held or wait for the approval of an InstallPlan. Without a
rollout, 4 if the wrapper is Stalled or suspended, or if clusters wait as above.`,
		Example: `  hostctl rollout status shop -n shop
  hostctl rollout status cfed/fast -w`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if err := o.Complete(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&o.Watch, "watch", "w", false, "show every change until the rollout is complete or has failed")
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "json or yaml (default text)")
	o.addTo(cmd)
	return cmd
}

// Validate checks the flags.
func (o *StatusOptions) Validate() error {
	switch {
	case o.Output != "" && o.Output != "json" && o.Output != "yaml":
		return exit.Usagef("--output %q: give json or yaml", o.Output)
	case o.Output != "" && o.Watch:
		return exit.Usagef("--watch prints text only: leave --output out")
	}
	return nil
}

// Run prints the rollout once. With -w it prints the rollout at every change.
func (o *StatusOptions) Run(ctx context.Context) error {
	if o.Watch {
		return o.watch(ctx)
	}
	p, err := o.read(ctx)
	if err != nil {
		return err
	}
	if err := o.print(p); err != nil {
		return err
	}
	return p.exitCode()
}

func (o *StatusOptions) print(p *progress) error {
	if o.Output == encode.JSON || o.Output == encode.YAML {
		return encode.To(o.Out, o.Output, p)
	}
	text, err := p.text(o.Now(), o.OnTerminal())
	if err == nil {
		_, err = io.WriteString(o.Out, text)
	}
	return err
}

// exitCode returns an error with code Waits if the rollout waits for a person; otherwise nil.
func (p *progress) exitCode() error {
	if p.WaitsForPerson {
		return exit.Silently(exit.Waits)
	}
	return nil
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func pause(ctx context.Context) error {
	if err := connect.Pause(ctx, pollInterval); err != nil {
		return fmt.Errorf("watching the rollout: %w", err)
	}
	return nil
}
