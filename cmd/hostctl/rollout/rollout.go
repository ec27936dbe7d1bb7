// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/approve"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

var (
	// errNoRollout is the error for a wrapper without a rollout. All members of such a wrapper change at the same time.
	errNoRollout = errors.New("the wrapper has no rollout: spec.rollout has neither waves nor maxUnavailable, progressDeadlineSeconds or onFailure")
	errDeleted   = errors.New("the wrapper is being deleted, so it has no rollout")
)

// New returns the command `hostctl rollout` with all subcommands.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Show and steer how a change of a wrapper goes out to its clusters",
		Long: `rollout shows how far a change of a wrapper has come, shows the wrapper's revisions, and steers both. It reads and writes only the
host. To let a wave begin, see hostctl approve --wave.`,
		Example: `  hostctl rollout preview -f shop.yaml          # what the change would do, and in which order
  hostctl rollout status shop -n shop -w        # until it is complete, or has failed
  hostctl rollout suspend shop -n shop          # no further wave begins; with --all no write either
  hostctl rollout history shop -n shop          # its revisions
  hostctl rollout undo shop -n shop             # back to the last good one
  hostctl rollout retry shop -n shop            # after a failure whose cause is gone`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return exit.Silently(exit.Usage)
		},
	}
	cmd.AddCommand(
		newHistoryCommand(newHistory(streams)),
		newPreviewCommand(newPreview(streams)),
		newResumeCommand(newSuspend(streams)),
		newRetryCommand(approve.NewOptions(streams)),
		newSkipCommand(approve.NewOptions(streams)),
		newStatusCommand(newStatus(streams)),
		newSuspendCommand(newSuspend(streams)),
		newUndoCommand(newUndo(streams)),
	)
	return cmd
}

// Target is the wrapper about which the user calls a subcommand, with what the subcommand needs to reach the host.
type Target struct {
	genericiooptions.IOStreams

	// Connect returns a client for the host. Tests set a function that needs no cluster.
	Connect func() (client.Client, error)
	// Now returns the present time.
	Now func() time.Time

	flags *genericclioptions.ConfigFlags

	// Complete sets the fields below.
	kind            v1alpha1.WrapperKind
	namespace, name string
	host            client.Client
}

func newTarget(streams genericiooptions.IOStreams) Target {
	flags := connect.Flags()
	return Target{IOStreams: streams, Now: time.Now, flags: flags, Connect: func() (client.Client, error) {
		scheme := runtime.NewScheme()
		if err := errors.Join(v1alpha1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
			return nil, err
		}
		return connect.HostWith(flags, scheme, connect.WithWarnings(func(text string) {
			_, _ = fmt.Fprintf(streams.ErrOut, "• the host's API server warns: %s\n", plain.Error(errors.New(text)))
		}))
	}}
}

// addTo adds the connection's flags to a command, and the shell completion of its first argument.
func (t *Target) addTo(cmd *cobra.Command) {
	t.flags.AddFlags(cmd.Flags())
	cmd.ValidArgsFunction = complete.Wrapper(t.flags)
}

// Complete parses the wrapper's name, and connects to the host.
func (t *Target) Complete(name string) error {
	var err error
	if t.kind, t.name, err = render.ParseName(name); err != nil {
		return err
	}
	if t.kind == v1alpha1.KindFederated {
		if t.namespace, err = connect.Namespace(t.flags); err != nil {
			return err
		}
	}
	t.host, err = t.Connect()
	return err
}

func (t *Target) wrapper(ctx context.Context) (v1alpha1.Wrapper, error) {
	return connect.Wrapper(ctx, t.host, t.kind, t.namespace, t.name)
}

// commandLine returns `hostctl rollout VERB` with the arguments for this wrapper. Messages show it.
func (t *Target) commandLine(verb string) string {
	if t.kind == v1alpha1.KindClusterFederated {
		return "hostctl rollout " + verb + " cfed/" + t.name
	}
	return "hostctl rollout " + verb + " " + t.name + " -n " + t.namespace
}
