// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
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
		Short: "Start a sandbox, repair it, or add to it",
		Long: `Starts a host and its members. The first start on a machine builds the control planes, which takes 10 to 15 minutes on 2 cores.
If the sandbox exists, up starts the processes that do not run and adds what the flags ask for. It removes nothing.

Set $KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd, kubectl, kube-controller-manager or kube-scheduler to use these programs
instead of built ones. up also uses programs that setup-envtest downloaded, if they are not built yet. All must have the minor version that
up builds: Kubernetes ` + binaries.KubernetesVersion + `. Up names each program that it uses, and the reason for each that it does not use.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return exit.Usagef("%w", err)
			}
			return o.run(cmd.Context())
		},
	}
	nameFlag(cmd, &o.Name)
	cmd.Flags().IntVar(&o.Members, "members", 3, "number of members; if the sandbox has more already, none is removed")
	cmd.Flags().BoolVar(&o.OLM, "olm", false, "install OLM and a small catalog on every member")
	cmd.Flags().BoolVar(&o.Bare, "bare", false, "start plain clusters without Fairlead")
	cmd.Flags().BoolVar(&o.Audit, "audit", false, "let the API servers log every request's metadata, one JSON event per line")
	cmd.Flags().BoolVar(&o.Fsync, "fsync", false, "let etcd sync to disk, as in production; slower, for benchmarks")
	return cmd
}

func (o *upOptions) run(ctx context.Context) error {
	began := time.Now()
	p := progress.New(o.ErrOut)
	s, err := sandbox.Up(ctx, o.Options, p)
	if err != nil {
		return err
	}
	p.Note("sandbox %s with a host and %s is up after %s. Nodes, pods and volumes are simulated; the rest is real.",
		s.Name, messages.Count(len(s.Clusters())-1, "member"), progress.Seconds(time.Since(began)))
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
		Short: "Stop all processes of a sandbox and delete its state",
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
				p.Note("there is no sandbox %q, so nothing was removed", name)
			default:
				step.Donef("sandbox %s is gone", name)
			}
			return nil
		},
	}
	nameFlag(cmd, &name)
	return cmd
}
