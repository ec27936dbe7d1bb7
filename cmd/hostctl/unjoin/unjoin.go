// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	joincmd "github.com/fairlead-dev/fairlead/cmd/hostctl/join"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// Options are the flags of `hostctl unjoin`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams
	join.UnjoinOptions
	joincmd.Connections

	Yes bool
	// CanAsk reports whether standard input is a terminal, so that the command can ask the user a question.
	CanAsk func() bool

	// Complete sets the fields below.
	host, member *rest.Config
}

// New returns the command `hostctl unjoin`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	o := &Options{IOStreams: streams, CanAsk: func() bool { return ask.Terminal(streams) }}
	cmd := &cobra.Command{
		Use:   "unjoin NAME",
		Short: "Remove a member; its workloads stay",
		Long: `unjoin removes a member from the host, and Fairlead from the member. Workloads stay there, with their namespaces and labels.

  removed on the member: Deliveries, the Membership, the CRDs of both, the host's account and roles, and the namespace
                         fairlead-system, if join made it and the cluster is no host itself
  removed at the host:   the MemberCluster and its Secret

By default the host's manager cleans the member; ` + "`kubectl delete member NAME`" + ` does the same. With --cluster-kubeconfig
unjoin cleans the member itself, with your own rights: use it when the host's credentials no longer work. With --forget the
member is not contacted: use it when the member is gone for good, or when another host has taken it over. unjoin never
changes objects that belong to another host now.`,
		Example: `  hostctl unjoin eu-1
  hostctl unjoin eu-1 --forget --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	o.Connections.AddFlags(f)
	cmd.ValidArgsFunction = complete.Member(o.Connections.HostFlags())
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.Forget, "forget", false, "remove the member at the host only; do not contact the member")
	f.DurationVar(&o.Wait, "timeout", 2*time.Minute, "how long to wait for the host's manager")
	return o, cmd
}

// Complete checks the flags and reads the kubeconfigs.
func (o *Options) Complete(name string) error {
	o.Name = name
	if err := join.CheckName(name); err != nil {
		return exit.Usagef("%w", err)
	}
	if o.Forget && o.Connections.HasMember() {
		return exit.Usagef("--forget does not contact the member, so it cannot be combined with --cluster-kubeconfig or --cluster-context: give only one of them")
	}
	if !o.Yes && !o.CanAsk() {
		return exit.Usagef("unjoining %s needs an answer, and standard input is no terminal: give --yes", name)
	}
	var err error
	if o.host, _, err = o.Connections.Host(); err != nil {
		return err
	}
	if o.Connections.HasMember() {
		o.member, err = o.Connections.Member()
	}
	return err
}

// Run asks the user and unjoins the member. After --forget it prints how to remove Fairlead from the member by
// hand.
func (o *Options) Run(ctx context.Context) error {
	_, _ = fmt.Fprint(o.ErrOut, o.plan())
	if !o.Yes {
		if err := ask.Confirm(o.IOStreams, "unjoining "+o.Name, "Unjoin "+o.Name+"?"); err != nil {
			return err
		}
	}
	if err := join.Unjoin(ctx, o.host, o.member, o.UnjoinOptions, steps.Printer(o.ErrOut, false)); err != nil {
		return err
	}
	if o.Forget {
		_, _ = fmt.Fprint(o.ErrOut, leftovers)
	}
	return nil
}

// leftovers tells the user how to remove Fairlead from a member by hand after --forget. The objects in these commands own or contain all
// other objects of Fairlead on the member, so Kubernetes deletes those with them.
const leftovers = `
If the member comes back, it still has the host's account. These commands, with a kubeconfig of the member, remove what Fairlead
left there. Look at ` + "`kubectl get membership self`" + ` first: if it names another host now, these objects belong to that host.
  kubectl delete clusterrole ` + permissions.HostAccount + `
  kubectl delete namespace ` + v1alpha1.SystemNamespace + `      # not on a cluster that is a host itself
  kubectl delete crd deliveries.` + v1alpha1.Group + ` memberships.` + v1alpha1.Group + `
`

// plan returns the text that tells the user what unjoin removes, and what it leaves.
func (o *Options) plan() string {
	if o.Forget {
		return fmt.Sprintf(`Forgetting member %[1]s removes at the host: MemberCluster %[1]s, Secret %[2]s/%[1]s.
Nothing is removed on the member itself: the host's account and everything that was pushed stay there.
`, o.Name, v1alpha1.SystemNamespace)
	}
	return fmt.Sprintf(`Unjoining member %[1]s removes
  on the member: Deliveries, the Membership, the CRDs of the two, the host's account and roles, and the namespace %[2]s
                 with all that is in it (if join made it and the cluster is no host itself)
  at the host:   MemberCluster %[1]s, Secret %[2]s/%[1]s
It leaves workloads, their namespaces and their labels on the member as they are.
`, o.Name, v1alpha1.SystemNamespace)
}
