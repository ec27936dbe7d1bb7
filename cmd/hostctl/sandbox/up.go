// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

type upOptions struct {
	genericiooptions.IOStreams
	sandbox.Options
}

func newUp(streams genericiooptions.IOStreams) *cobra.Command {
	o := &upOptions{IOStreams: streams}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring a sandbox up, or repair it, or add to it",
		Long: `Brings up a host and its members. The first time on a machine it builds the control planes, which takes some
10 minutes on 2 cores. Run again it repairs what is dead and adds what is newly asked for; it takes nothing away.

Programs in the folder $KUBEBUILDER_ASSETS are used instead of built ones.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return exit.Usagef("%w", err)
			}
			return o.run(cmd.Context())
		},
	}
	nameFlag(cmd, &o.Name)
	cmd.Flags().IntVar(&o.Members, "members", 3, "how many members; fewer than there are leaves those that are there")
	cmd.Flags().BoolVar(&o.OLM, "olm", false, "put OLM and a small catalog on every member")
	cmd.Flags().BoolVar(&o.Bare, "bare", false, "leave plain clusters, with nothing of Fairlead on them")
	cmd.Flags().BoolVar(&o.Audit, "audit", false, "have the API servers log every request's metadata, one JSON event a line")
	cmd.Flags().BoolVar(&o.Fsync, "fsync", false, "have etcd sync to the disk, for figures that are to mean something")
	return cmd
}

func (o *upOptions) run(ctx context.Context) error {
	began := time.Now()
	p := progress.New(o.ErrOut)
	s, err := sandbox.Up(ctx, o.Options, p)
	if err != nil {
		return err
	}
	p.Note("sandbox %s is up: %d clusters, %s in all. Nodes, pods and volumes are simulated; the rest is real.",
		s.Name, len(s.Clusters()), progress.Seconds(time.Since(began)))
	flag := ""
	if s.Name != DefaultName {
		flag = " --name " + s.Name
	}
	p.Note("try: eval \"$(hostctl sandbox env%s)\"; kubectl --context member-1 get nodes", flag)
	return nil
}

func newDown(streams genericiooptions.IOStreams) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End every process of a sandbox and remove its state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := progress.New(streams.ErrOut)
			step := p.Step("taking sandbox %s down", name)
			existed, err := sandbox.Down(cmd.Context(), name)
			switch {
			case err != nil:
				step.Skip()
				return err
			case !existed:
				step.Skip()
				p.Note("no sandbox %q: nothing to take down", name)
			default:
				step.Donef("sandbox %s is gone", name)
			}
			return nil
		},
	}
	nameFlag(cmd, &name)
	return cmd
}
