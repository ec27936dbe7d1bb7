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
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// collectorTimeout is the default of --timeout if the collector runs on the member: its pod has to start first.
const collectorTimeout = 2 * time.Minute

// Options are the flags of `hostctl join`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams
	join.Options
	Connections

	Namespaces, Collector string
	WaitForReady, Yes     bool
	Timeout               time.Duration
	// CanAsk reports whether standard input is a terminal, so that the command can ask the user a question.
	CanAsk func() bool

	// Complete sets the fields below.
	host, member *rest.Config
}

// New returns the command `hostctl join`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

// help is the text of `hostctl join --help`.
const help = `join makes a cluster a member of the host, under NAME.

On the member, join makes the namespace fairlead-system, an account for the host with the roles of --allow, and a Membership
that names the host. On the host, it makes the MemberCluster and a Secret with the account's token. Then it waits until the
host reports the member as Ready.

You can run join again at any time. It repairs what is missing or changed. Settings for which you give no flag stay, grants
included. If you give --allow, grants that it does not name are removed.

Tokens: the host's token is valid for 30 days, and the manager renews it daily. It revokes the previous token as soon as the
new one has worked. If a token may have been stolen, use --rotate: join then deletes the accounts of the host and of the collector
and creates them again, which revokes all their tokens. That takes about 15 seconds, and the member is not served meanwhile. If you run the
collector yourself, give it a new token afterwards.

Collector: a collector observes the member and reports the state of the objects. With --collector Member it is a Deployment
in fairlead-system of the member. Its account reads the objects of the grants (never Secrets) and writes only the status of
Deliveries and of the Membership. Its image has the registry, the path and the tag of the manager's image, and the name
collector, unless --image or --image-registry selects another. A join after an upgrade of the host upgrades the CRDs on the
member and its collector too. Until then the MemberCluster may have the condition MemberOutdated. join waits until the collector reports. If its image cannot be pulled, or its pod is
refused, join says so and ends with an error; run join again with other settings. With Host or External there is no Deployment.
When you change --collector, join creates the collector's account again, which revokes every token of the former collector.

Address: the manager has to reach the member from where it runs. A manager in a pod of the host cannot use a loopback address
of this machine. If the manager does not reach the member, join prints the address that the manager tried: give another one with --server.

Takeover: join refuses a member of another host, unless you give --take-over. It then shows the other host and the
consequences, and asks. It revokes the other host's account with all its tokens, and then creates an account for this host. It
changes nothing else on the member. The other host's objects stay, and their Deliveries count as orphans. Wrappers of the
same names on this host are held until ` + "`hostctl recover NAME --keep host`" + `. A takeover takes about 15 seconds. If it was
interrupted, run it again. It changes nothing if the cluster belongs to no other host.

Grants, for --allow:

  core      namespaces (get, create, patch), configmaps, services, serviceaccounts, claims, and the groups apps, batch,
            autoscaling, policy, networking.k8s.io, gateway.networking.k8s.io
  storage   storage classes, volume snapshots and their classes
  volumes   persistent volumes and snapshot contents; these give access to paths of nodes, and to the driver's whole cloud account
  olm       subscriptions, operatorgroups, operatorconditions, clusterextensions; approving installplans, deleting CSVs
  catalogs  catalogsources, clustercatalogs: the sources of operators
  secrets   Secrets
  rbac      roles and bindings; the host can grant only rights that it has itself
  any       everything: the host becomes cluster-admin there
  GROUP/RESOURCE  one more resource, as in example.com/widgets; write core for the core group

The default, core,storage,olm, is close to cluster-admin on the member. A Deployment in an open namespace can use any service
account of that namespace, and can mount a path of its node unless Pod Security labels forbid it. A Subscription lets OLM
install an operator with the rights that the operator asks for. Label the open namespaces with
pod-security.kubernetes.io/enforce, and allow less where you can.

The member itself enforces --namespaces, by a ValidatingAdmissionPolicy named fairlead-host that join installs. It keeps the
host's account out of kube-*, and out of everything in fairlead-system that is not its own. With Managed it also keeps the
account out of namespaces that are not open. An edit of the MemberCluster on the host does not change the policy; only join
does, with the cluster's kubeconfig. With the grants rbac or any the host can circumvent the policy.

On members that an earlier version of hostctl joined, the grants storage and olm include more. If you join such a member again
without --allow, it keeps these rights, and join says so. To reduce them: --allow core,storage,olm.`

const examples = `  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --labels env=production,cloud=aws
  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --allow core,storage,olm,secrets,example.com/widgets
  hostctl join lab --cluster-context lab --server https://10.0.0.7:6443 --dry-run
  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --image-registry mirror.example.com:5000/fairlead --toleration edge:NoSchedule
  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --collector Host
  hostctl join eu-1 --cluster-kubeconfig eu-1.yaml --take-over`

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	o := &Options{IOStreams: streams, CanAsk: func() bool { return ask.Terminal(streams) }}
	cmd := &cobra.Command{
		Use:   "join NAME",
		Short: "Make a cluster a member of the host",
		Long:  help, Example: examples,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.WaitForReady && !cmd.Flags().Changed("timeout") {
				o.CollectorWait = collectorTimeout
			}
			if err := o.Complete(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	o.Connections.AddFlags(f)
	cmd.ValidArgsFunction = complete.Member(o.Connections.HostFlags())
	f.StringSliceVar(&o.Allow, "allow", nil, "grants: what the host may write on the member (default core,storage,olm)")
	f.StringVar(&o.Namespaces, "namespaces", "", `namespaces that are open to the host: Managed (those it made, or labelled `+v1alpha1.LabelOpen+`: "true") or All (default Managed)`)
	f.StringToStringVar(&o.Labels, "labels", nil, "labels for the MemberCluster, as in env=production,cloud=aws; its other labels stay")
	f.StringVar(&o.Server, "server", "", "URL at which the host reaches the member (default the URL of the earlier join, else the URL in the cluster's kubeconfig)")
	f.StringVar(&o.ProxyURL, "proxy-url", "", "URL of the proxy through which the host reaches the member; the value \"none\" removes the proxy (default the proxy of the earlier join). "+
		"join stores the user and the password of that URL in the member's Secret")
	f.StringVar(&o.Collector, "collector", "", "collector that observes the member: Member (a Deployment there), Host (inside the host's manager) or External (a collector that you run) "+
		"(default Member if the host's manager is a Deployment, else Host)")
	f.StringVar(&o.MemberCollector.Image, "image", "", "image of a collector on the member; without a tag it gets the tag of the manager's image. The "+
		"value \"host\" selects the image that is derived from the manager's image "+
		"(default the image of the earlier join, else \"host\")")
	f.StringVar(&o.MemberCollector.Registry, "image-registry", "", "registry or mirror HOST[:PORT][/PREFIX] that has an image named collector with the tag of the manager's image")
	f.StringSliceVar(&o.MemberCollector.PullSecrets, "image-pull-secret", nil, "Secrets in "+v1alpha1.SystemNamespace+" of the host with which the member's nodes pull that image; "+
		"join copies them to the member; the value \"none\" means no Secret (default the Secrets of the earlier join, else those of the manager)")
	f.StringSliceVar(&o.MemberCollector.Tolerations, "toleration", nil, "taints of nodes that a collector on the member tolerates, as KEY=VALUE:EFFECT "+
		"or KEY; the value \"none\" removes all of them "+
		"(default the taints of the earlier join)")
	f.StringVar(&o.HostName, "host-name", "", "name of the host on the member (default the cluster name of the host's context)")
	f.BoolVar(&o.TakeOver, "take-over", false, "take the cluster over from its present host, and revoke that host's account there")
	f.BoolVar(&o.Rotate, "rotate", false, "delete the accounts of the host and of the collector on the member and create them again, which revokes all their tokens")
	f.BoolVarP(&o.Yes, "yes", "y", false, "with --take-over: do not ask for confirmation")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would be done, and write nothing")
	f.BoolVar(&o.WaitForReady, "wait", true, "wait until the member is Ready")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "how long to wait for Ready (default 2m with a collector on the member, whose image has to be pulled)")
	return o, cmd
}

// Complete checks the flags and reads the kubeconfigs.
func (o *Options) Complete(name string) error {
	o.Name = name
	o.Options.Namespaces = v1alpha1.NamespacePolicy(o.Namespaces)
	o.Options.Collector = v1alpha1.CollectorMode(o.Collector)
	if o.WaitForReady {
		o.Wait = o.Timeout
	}
	if !o.Connections.HasMember() {
		return exit.Usagef("say which cluster joins: give --cluster-kubeconfig FILE, or --cluster-context NAME for another context of the host's kubeconfig")
	}
	switch {
	case o.Yes && !o.TakeOver:
		return exit.Usagef("--yes works only with --take-over: without it join asks nothing")
	case o.TakeOver && !o.Yes && !o.DryRun && !o.CanAsk():
		return exit.Usagef("taking %s over needs an answer, and standard input is no terminal: give --yes", name)
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

// Run joins the cluster and prints a summary.
func (o *Options) Run(ctx context.Context) error {
	o.Confirm = o.confirm
	result, err := join.Join(ctx, o.host, o.member, o.Options, steps.Printer(o.ErrOut, o.DryRun))
	var notReady *join.NotReadyError
	if err != nil && !errors.As(err, &notReady) {
		return err
	}
	_, _ = fmt.Fprint(o.ErrOut, summary(result, o.Options)) // an error here cannot be shown: stderr is closed
	o.warnOfSandbox(ctx, result)
	return err
}

// summary returns the text that describes the member after the join, and what the user does next.
func summary(r *join.Result, o join.Options) string {
	var b strings.Builder
	verb := "is"
	if o.DryRun {
		verb = "would be"
	}
	fmt.Fprintf(&b, "\n%s (Kubernetes %s) %s a member of %s, reached at %s.\n", r.Name, r.KubernetesVersion, verb, r.Host.Name, r.Endpoint)
	fmt.Fprintf(&b, "On the member the host may write: %s. Namespaces: %s.", strings.Join(r.Grants, ", "), namespaces(r.Namespaces))
	if !r.TokenExpires.IsZero() {
		fmt.Fprintf(&b, " The host's token is valid until %s.", r.TokenExpires.UTC().Format("2006-01-02"))
	}
	b.WriteString("\n")
	switch r.Collector {
	case v1alpha1.CollectorMember:
		fmt.Fprintf(&b, "The collector runs on the member as Deployment %s/%s, with the image %s.\n", v1alpha1.SystemNamespace, membercollector.Name, r.CollectorImage)
	case v1alpha1.CollectorExternal:
		fmt.Fprintf(&b, "A collector that you run with the service account %s/%s observes the member.\n", v1alpha1.SystemNamespace, permissions.CollectorAccount)
	}
	switch {
	case o.DryRun:
		b.WriteString("Nothing was written.\n")
	case r.Changes == 0:
		b.WriteString("Nothing had to be written.\n")
	default:
		fmt.Fprintf(&b, "Next: see it with `kubectl get member %s`, and place objects there: hostctl federate --help\n", r.Name)
	}
	return b.String()
}

func namespaces(p v1alpha1.NamespacePolicy) string {
	if p == v1alpha1.NamespacesAll {
		return "all except kube-* and " + v1alpha1.SystemNamespace
	}
	return fmt.Sprintf("those that Fairlead creates, and those with the label %s: \"true\"", v1alpha1.LabelOpen)
}
