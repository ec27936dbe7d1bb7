// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/complete"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Options are the flags of `hostctl kept`, and what Complete derives from them.
type Options struct {
	genericiooptions.IOStreams

	Clusters []string
	// Host returns a client for the host, and the namespace of the flag --namespace or of the kubeconfig's context.
	Host func() (host client.Client, namespace string, err error)

	// Complete sets the fields below.
	kind v1alpha1.WrapperKind
	name string
}

// New returns the command `hostctl kept`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	_, cmd := newCommand(streams)
	return cmd
}

func newCommand(streams genericiooptions.IOStreams) (*Options, *cobra.Command) {
	flags := connect.Flags()
	o := &Options{IOStreams: streams}
	o.Host = func() (client.Client, string, error) {
		namespace, err := connect.Namespace(flags)
		if err != nil {
			return nil, "", err
		}
		host, err := connect.HostWith(flags, member.Scheme) // the scheme of package member has Secrets: kept reads the members' credentials
		return host, namespace, err
	}
	cmd := &cobra.Command{
		Use:   "kept NAME | cfed/NAME",
		Short: "List the objects of a wrapper that stayed on members after the wrapper left",
		Long: `kept lists the objects that a wrapper brought to members and that stayed there after the wrapper was deleted, left the member or
dropped them from its spec. Fairlead keeps objects that hold data or that data depends on, objects whose deletion would
delete data too, and objects with the annotation federation.fairlead.dev/keep. An event with the reason Kept reports them
at that moment. A new wrapper of the same name adopts them.

kept lists every kind on each member that the host may list there, and finds the objects by Fairlead's marks. It writes
nothing. It uses the host's credentials for the members, so you need the right to read Secrets in fairlead-system. If it
cannot read everything on a member, it names that member, and the exit code is 1.

hostctl itself asks the members' API servers, at the endpoints of the MemberClusters. So run it where these can be reached.`,
		Example: `  hostctl kept storefront -n shop
  hostctl kept cfed/rook --cluster eu-1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.kind, o.name, err = render.ParseName(args[0]); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Clusters, "cluster", nil, "search only this cluster; may be repeated (default every cluster)")
	flags.AddFlags(f)
	cmd.ValidArgsFunction = complete.Wrapper(flags)
	complete.MemberFlags(cmd, flags, "cluster")
	return o, cmd
}

// Run searches the members one after the other, and prints the kept objects that it finds.
func (o *Options) Run(ctx context.Context) error {
	host, namespace, err := o.Host()
	if err != nil {
		return err
	}
	if o.kind == v1alpha1.KindClusterFederated {
		namespace = ""
	}
	members, err := o.members(ctx, host)
	if err != nil {
		return err
	}
	objects := search{wrapper: marks.WrapperPath(o.kind, namespace, o.name), namespace: namespace,
		delivery: marks.DeliveryName(o.kind, namespace, o.name)}
	var found []object
	var silent int
	for i := range members {
		there, unlisted, err := o.searchMember(ctx, host, &members[i], objects)
		if err != nil {
			silent++
			_, _ = fmt.Fprintf(o.ErrOut, "✗ member %s: hostctl could not list the objects of every kind: %s\n", members[i].Name, health.Clean(err.Error(), 1024))
		}
		if unlisted > 0 {
			_, _ = fmt.Fprintf(o.ErrOut, "• member %s: hostctl skipped %d kinds that the host's account may not list there, "+
				"and may have missed kept objects of these kinds; `hostctl join --allow` grants the host more\n", members[i].Name, unlisted)
		}
		found = append(found, there...)
	}
	switch {
	case len(found) > 0:
		if err := printTable(o.Out, found); err != nil {
			return err
		}
	case silent == 0:
		_, _ = fmt.Fprintf(o.ErrOut, "hostctl found no kept objects of %s on the %d members that it searched. "+
			"`hostctl recover` shows Deliveries without a wrapper.\n", objects.wrapper, len(members))
	}
	if silent > 0 {
		return fmt.Errorf("listing the kept objects of %s: on %d of %d members hostctl could not read everything", objects.wrapper, silent, len(members))
	}
	return nil
}

// members returns the members that --cluster names, by default all members, sorted by name.
func (o *Options) members(ctx context.Context, host client.Client) ([]v1alpha1.MemberCluster, error) {
	list := &v1alpha1.MemberClusterList{}
	if err := host.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing members: %w", err)
	}
	for _, name := range o.Clusters {
		if !slices.ContainsFunc(list.Items, func(mc v1alpha1.MemberCluster) bool { return mc.Name == name }) {
			return nil, exit.Usagef("--cluster %s: there is no such member; see `kubectl get memberclusters`", name)
		}
	}
	if len(o.Clusters) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(mc v1alpha1.MemberCluster) bool { return !slices.Contains(o.Clusters, mc.Name) })
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.MemberCluster) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// searchMember connects to a member with the credentials that the host has for it, and searches the member.
func (o *Options) searchMember(ctx context.Context, host client.Client, mc *v1alpha1.MemberCluster, what search) ([]object, int, error) {
	secret := &corev1.Secret{}
	err := host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: mc.Spec.CredentialsRef.Name}, secret)
	switch {
	case apierrors.IsForbidden(err):
		return nil, 0, errors.New("you may not read the member's credentials: ask for the right to read Secrets in " + v1alpha1.SystemNamespace + " on the host")
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return nil, 0, fmt.Errorf("reading the member's credentials: %w", err)
	}
	config, err := member.ConfigFor(mc, secret, "hostctl")
	if err != nil {
		return nil, 0, err
	}
	conn, err := member.Connect(mc.Name, config)
	if err != nil {
		return nil, 0, err
	}
	found, unlisted, err := what.on(ctx, conn)
	return found, unlisted, unreached(mc, err)
}

// unreached explains an error if the request got no response from the member's API server. The user could otherwise think that the
// manager cannot reach the member either. But the manager perhaps can, for example if the name in the address resolves only in the
// host's network.
func unreached(mc *v1alpha1.MemberCluster, err error) error {
	status := apierrors.APIStatus(nil)
	if network := (*url.Error)(nil); err == nil || errors.As(err, &status) || !errors.As(err, &network) {
		return err
	}
	return fmt.Errorf("hostctl itself has to reach the member's API server at %s; the manager's connection does not help. "+
		"Run hostctl on a machine that reaches this address: %w", mc.Spec.Endpoint, err)
}

func printTable(out io.Writer, found []object) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "MEMBER\tOBJECT\tWHY") // Flush returns the error
	for _, one := range found {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", one.member, one.name, one.why)
	}
	return w.Flush()
}
