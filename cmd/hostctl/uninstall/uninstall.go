// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/install"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// Options are the flags of `hostctl uninstall`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams
	install.UninstallOptions

	Yes         bool
	ConfirmName string
	// CanAsk reports whether standard input is a terminal, so that the command can ask the user a question.
	CanAsk func() bool

	flags *genericclioptions.ConfigFlags

	// Complete sets the fields below.
	host    *rest.Config
	context string
}

// New returns the command `hostctl uninstall`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	o := &Options{IOStreams: streams, CanAsk: func() bool { return ask.Terminal(streams) }, flags: connect.Flags()}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the host part; wrappers, credentials and all objects on members stay",
		Long: `uninstall removes the host part from a cluster, in an order in which nothing is lost: the webhooks first, then the manager,
then its services, policies and roles. It asks first.

  stays:  the CRDs with all wrappers and MemberClusters, and namespace ` + v1alpha1.SystemNamespace + ` with the members' credentials,
          the key of the seals, the key of encrypted revisions, and the values of the last init
  stays:  everything on the members

` + "`hostctl init`" + ` installs the host part again, with the same values. Until then no webhook checks wrappers, and a wrapper that
is deleted waits for a manager.

--delete-wrappers
  Use it to stop using Fairlead. uninstall sets onDelete: KeepAll on every wrapper and deletes it, so the objects stay on the
  members. Then it unjoins every member. Then it removes the host part, with the CRDs, the credentials and the keys. Suspend
  your GitOps tool first: uninstall stops if a tool creates wrappers again. It asks twice: the second time you type the name of
  the context. If a member does not answer, uninstall removes nothing of the host part.`,
		Example: `  hostctl uninstall --context production
  hostctl uninstall --delete-wrappers
  hostctl uninstall --delete-wrappers --yes --confirm production    # asks nothing`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Complete(); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.DeleteWrappers, "delete-wrappers", false, "also delete all wrappers, unjoin all members, and remove CRDs, credentials and keys")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask; with --delete-wrappers, give --confirm too")
	f.StringVar(&o.ConfirmName, "confirm", "", "with --delete-wrappers: the name of the context; it answers the second question")
	f.DurationVar(&o.Wait, "timeout", 5*time.Minute, "the longest time for each wait: until the wrappers are gone, until each member is unjoined, until the manager's pods are gone")
	o.flags.AddFlags(f)
	f.Lookup("kubeconfig").Usage = "kubeconfig of the host"
	f.Lookup("context").Usage = "context of the host in its kubeconfig"
	f.Lookup("namespace").Usage = "namespace of the host part, which is " + v1alpha1.SystemNamespace
	return o, cmd
}

// Complete checks the flags and reads the kubeconfig.
func (o *Options) Complete() error {
	if ns := *o.flags.Namespace; ns != "" && ns != v1alpha1.SystemNamespace {
		return exit.Usagef("--namespace %s: the host part is always in %s. Leave the flag out", ns, v1alpha1.SystemNamespace)
	}
	if o.Wait <= 0 {
		return exit.Usagef("--timeout %s: give a time, as in 5m", o.Wait)
	}
	if o.ConfirmName != "" && !o.DeleteWrappers {
		return exit.Usagef("--confirm works only with --delete-wrappers; without it there is no second question")
	}
	raw, err := o.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	if o.host, err = connect.Config(o.flags); err != nil {
		return err
	}
	// In a pod there is no kubeconfig, and so no context. The user then confirms with the address of the API server.
	o.context = cmp.Or(*o.flags.Context, raw.CurrentContext, o.host.Host)
	switch {
	case o.ConfirmName != "" && o.ConfirmName != o.context:
		return exit.Usagef("--confirm %s: the context is %s, so nothing was done", o.ConfirmName, o.context)
	case o.CanAsk():
	case !o.Yes:
		return exit.Usagef("uninstalling needs an answer, and standard input is no terminal: give --yes")
	case o.DeleteWrappers && o.ConfirmName == "":
		return exit.Usagef("deleting all wrappers needs a second answer, and standard input is no terminal: give --confirm CONTEXT too")
	}
	return nil
}

// Run asks the user, removes Fairlead from the host, and prints what is left.
func (o *Options) Run(ctx context.Context) error {
	_, _ = fmt.Fprint(o.ErrOut, o.plan()) // an error here cannot be shown: stderr is closed
	doing := "uninstalling the host part"
	if !o.Yes {
		if err := ask.Confirm(o.IOStreams, doing, "Go on?"); err != nil {
			return err
		}
	}
	if o.DeleteWrappers && o.ConfirmName == "" {
		if err := ask.Type(o.IOStreams, doing, fmt.Sprintf("This cannot be undone. To delete all wrappers, type the name of the context, %s:", o.context), o.context); err != nil {
			return err
		}
	}
	left, err := install.Uninstall(ctx, o.host, o.UninstallOptions, progress.New(o.ErrOut))
	if err != nil {
		return err
	}
	_, _ = fmt.Fprint(o.ErrOut, o.summary(left))
	return nil
}

// plan returns the text that tells the user what the command removes, and what stays.
func (o *Options) plan() string {
	at := fmt.Sprintf("context %s, %s", o.context, o.host.Host)
	if o.DeleteWrappers {
		return fmt.Sprintf(`Uninstalling Fairlead with all wrappers from the host (%s)
  deletes all wrappers, and unjoins all members: the delivered objects stay on the members, and Fairlead no longer manages them
  removes the webhooks, the manager, its roles, the CRDs with all Approvals, and namespace %s with the keys
  first suspend any GitOps tool that applies wrappers: the tool would create them again
`, at, v1alpha1.SystemNamespace)
	}
	return fmt.Sprintf(`Uninstalling Fairlead from the host (%s)
  removes the webhooks, the manager, its services, policies and roles
  leaves the CRDs with all wrappers and members, namespace %s with credentials and keys, and everything on the members
`, at, v1alpha1.SystemNamespace)
}

func (o *Options) summary(left install.Left) string {
	if o.DeleteWrappers {
		return "\nFairlead is removed from the host and its members. The objects that it delivered stay on the members, with their labels.\n"
	}
	return fmt.Sprintf(`
The host part is removed. These stay: the CRDs, %s, %s, and namespace %s with %s (credentials and keys).
The objects on the members stay too. `+"`hostctl init`"+` installs the host part again, with the values of the last init.
`, messages.Count(left.Wrappers, "wrapper"), messages.Count(left.Members, "member"), v1alpha1.SystemNamespace, messages.Count(left.Secrets, "Secret"))
}
