// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/join"
)

// Options are the flags, and what Complete makes of them.
type Options struct {
	genericiooptions.IOStreams
	join.Options
	Connections

	Namespaces, Collector string
	WaitForReady, Yes     bool
	Timeout               time.Duration
	// CanAsk says whether somebody sits there who can be asked.
	CanAsk func() bool

	// filled in by Complete
	host, member *rest.Config
}

// New is the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	o := &Options{IOStreams: streams, CanAsk: func() bool { return ask.Terminal(streams) }}
	cmd := &cobra.Command{
		Use:   "join NAME",
		Short: "Make a cluster a member of the host",
		Long: `join makes a cluster a member of the host, under NAME.

On the member it makes the namespace fairlead-system, an account for the host with the roles that --allow names, and a
Membership that says whose member it is; on the host a Secret with the account's token and the MemberCluster. Then it waits
until the host calls the member Ready.

It can be run again at any time: what is there is kept, what is missing or changed is mended, and what a flag does not
mention stays as an earlier join left it. What --allow no longer names is taken away.

The host's token holds for 30 days and is renewed daily; the one before is revoked once the new one has worked. Where one may
have been stolen, --rotate makes the account anew, and the collector's: every token of theirs is refused from then on. It takes
some 15 seconds, in which the member is not served. A collector that you run yourself needs a new token afterwards.

A member of another host is refused. With --take-over it changes hosts: join says whose it is and what follows, and asks.
The other host's account there is revoked, and every token of it, before this one gets an account; nothing else on the
member is written or deleted. What the other host has delivered stays as it is: it is told as orphaned until wrappers of
the same names are made at this host, and those are held until ` + "`hostctl recover NAME --keep host`" + `. It takes some 15 seconds,
can be said again if it was stopped half-way, and changes nothing where the cluster belongs to no other host.

  core      namespaces (get, create, patch), configmaps, services, serviceaccounts, claims, and the groups apps, batch,
            autoscaling, policy, networking.k8s.io, gateway.networking.k8s.io
  storage   storage classes, volume snapshots and their classes
  volumes   persistent volumes and snapshot contents: paths of nodes, and all that the cloud account of their driver reaches
  olm       subscriptions, operatorgroups, operatorconditions, clusterextensions; approving installplans, deleting CSVs
  catalogs  catalogsources, clustercatalogs: what operators may be installed from
  secrets   Secrets
  rbac      roles and bindings, as far as they hand out what the host holds itself
  any       everything: the host is cluster-admin there
  GROUP/RESOURCE  one resource more, as in example.com/widgets; the group without a name is written core

The default, core,storage,olm, is close to cluster-admin on the member: a Deployment in an open namespace can mount a path of
its node or use any service account of that namespace, unless Pod Security labels forbid it, and a Subscription has OLM
install an operator with the rights that it asks for. Give those namespaces the label pod-security.kubernetes.io/enforce, and
allow less where less will do.

--namespaces is enforced by the member itself: join installs a ValidatingAdmissionPolicy there, fairlead-host, that keeps the
host's account out of kube-*, out of all but its own things in fairlead-system, and under Managed out of namespaces that are
not open. An edit of the MemberCluster at the host does not change it; this command does, with the cluster's kubeconfig. With rbac
or any the host can get around it.

A member that an earlier version joined grants more by storage and olm. Joined again without --allow it keeps that, and join
says so; to take it away: --allow core,storage,olm.`,
		Example: `  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --labels env=production,cloud=aws
  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --allow core,storage,olm,secrets,example.com/widgets
  hostctl join lab --cluster-context lab --server https://10.0.0.7:6443 --dry-run
  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --take-over`,
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
	f.StringSliceVar(&o.Allow, "allow", nil, "what the host may write on the member (default core,storage,olm)")
	f.StringVar(&o.Namespaces, "namespaces", "", `namespaces that are open to the host: Managed (those it made, or labelled `+v1alpha1.LabelOpen+`: "true") or All (default Managed)`)
	f.StringToStringVar(&o.Labels, "labels", nil, "labels of the MemberCluster, as in env=production,cloud=aws; others that it has stay")
	f.StringVar(&o.Server, "server", "", "URL by which the host reaches the member (default that of the cluster's kubeconfig)")
	f.StringVar(&o.ProxyURL, "proxy-url", "", "proxy by which the host reaches the member, or none; its user and password are kept in the Secret")
	f.StringVar(&o.Collector, "collector", "", "who observes the member: Host (the host's manager) or External (a collector that you run) (default Host)")
	f.StringVar(&o.HostName, "host-name", "", "what the member calls the host (default the cluster name of the host's context)")
	f.BoolVar(&o.TakeOver, "take-over", false, "take the cluster from the host that it belongs to, and revoke that one's account there")
	f.BoolVar(&o.Rotate, "rotate", false, "make the accounts of host and collector on the member anew, which revokes all their tokens")
	f.BoolVarP(&o.Yes, "yes", "y", false, "with --take-over: do not ask")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be done and write nothing")
	f.BoolVar(&o.WaitForReady, "wait", true, "wait until the member is Ready")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "how long to wait for that")
	return o, cmd
}

// Complete reads the kubeconfigs and checks the flags.
func (o *Options) Complete(name string) error {
	o.Name = name
	o.Options.Namespaces = v1alpha1.NamespacePolicy(o.Namespaces)
	o.Options.Collector = v1alpha1.CollectorMode(o.Collector)
	if o.WaitForReady {
		o.Wait = o.Timeout
	}
	if !o.Connections.HasMember() {
		return exit.Usagef("which cluster is to join? Give --cluster-kubeconfig FILE, or --cluster-context NAME for another context of your own kubeconfig")
	}
	switch {
	case o.Yes && !o.TakeOver:
		return exit.Usagef("--yes goes with --take-over: nothing else is asked")
	case o.TakeOver && !o.Yes && !o.DryRun && !o.CanAsk():
		return exit.Usagef("taking %s over cannot be asked about in a pipe: give --yes", name)
	}
	var err error
	if o.host, o.DefaultHostName, err = o.Connections.Host(); err != nil {
		return err
	}
	if o.member, err = o.Connections.Member(); err != nil {
		return err
	}
	if err := o.Options.Validate(); err != nil {
		return exit.Usagef("%w", err)
	}
	return nil
}

// Run joins, and says what has come of it.
func (o *Options) Run(ctx context.Context) error {
	o.Confirm = o.confirm
	result, err := join.Join(ctx, o.host, o.member, o.Options, join.Narrate(o.ErrOut, o.DryRun))
	var notReady *join.NotReadyError
	if err != nil && !errors.As(err, &notReady) {
		return err
	}
	_, _ = fmt.Fprint(o.ErrOut, summary(result, o.Options)) // nobody is left to tell
	o.warnOfSandbox(ctx, result)
	return err
}

// summary is what a person wants to know in the end, and what to do next.
func summary(r *join.Result, o join.Options) string {
	var b strings.Builder
	verb := "is"
	if o.DryRun {
		verb = "would be"
	}
	fmt.Fprintf(&b, "\n%s (Kubernetes %s) %s a member of %s, reached at %s.\n", r.Name, r.KubernetesVersion, verb, r.Host.Name, r.Endpoint)
	fmt.Fprintf(&b, "The host may write there: %s. Namespaces: %s.", strings.Join(r.Grants, ", "), namespaces(r.Namespaces))
	if !r.TokenExpires.IsZero() {
		fmt.Fprintf(&b, " Its token holds until %s.", r.TokenExpires.UTC().Format("2006-01-02"))
	}
	b.WriteString("\n")
	if r.Collector == v1alpha1.CollectorExternal {
		fmt.Fprintf(&b, "Observed by a collector that you run as %s/%s.\n", v1alpha1.SystemNamespace, join.CollectorAccount)
	}
	switch {
	case o.DryRun:
		b.WriteString("Nothing was written.\n")
	case r.Changes == 0:
		b.WriteString("Nothing had to be written.\n")
	default:
		fmt.Fprintf(&b, "Next: kubectl get member %s; then place something there: hostctl federate --help\n", r.Name)
	}
	return b.String()
}

func namespaces(p v1alpha1.NamespacePolicy) string {
	if p == v1alpha1.NamespacesAll {
		return "all but kube-* and " + v1alpha1.SystemNamespace
	}
	return fmt.Sprintf("those that Fairlead makes, and those that carry the label %s: \"true\"", v1alpha1.LabelOpen)
}
