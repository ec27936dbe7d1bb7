// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// pollInterval is the pause between two reads of -w.
const pollInterval = 2 * time.Second

// StatusOptions are the flags of `rollout status`.
type StatusOptions struct {
	Target

	Watch  bool
	Output string

	// OnTerminal reports whether standard output is a terminal, on which -w redraws.
	OnTerminal func() bool
	// Pause waits between two reads of -w, or returns an error when the command is interrupted.
	Pause func(context.Context) error
}

func newStatus(streams genericiooptions.IOStreams) *StatusOptions {
	return &StatusOptions{Target: newTarget(streams), OnTerminal: func() bool { return isTerminal(streams.Out) }, Pause: pause}
}

func newStatusCommand(o *StatusOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status (NAME | cfed/NAME) [-w] [-o json|yaml]",
		Short: "Show how far the rollout of a wrapper has come",
		Long: `status shows each cluster of a wrapper with its wave, its revision and its state, then how many clusters are updated, and what the
rollout waits for. It asks the host only.

With -w it goes on until the rollout is Complete, Paused or RolledBack. On a terminal it draws the table anew. In a pipe it prints
a line for each change.

Exit codes: 0 if the rollout is Complete or goes on by itself, 4 if it waits for a person: for the approval of a wave, because it is
suspended, or because it has failed and stands still.`,
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
	cmd.Flags().BoolVarP(&o.Watch, "watch", "w", false, "go on until the rollout is complete or has failed")
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

// Run prints the rollout, once or with every change.
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
	switch o.Output {
	case "json":
		encoder := json.NewEncoder(o.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(p)
	case "yaml":
		content, err := yaml.Marshal(p)
		if err == nil {
			_, err = o.Out.Write(content)
		}
		return err
	}
	text, err := p.text(o.Now(), o.OnTerminal())
	if err == nil {
		_, err = io.WriteString(o.Out, text)
	}
	return err
}

// exitCode is the error that carries the exit code of a rollout in this state.
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
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("watching the rollout: %w", ctx.Err())
	}
}
