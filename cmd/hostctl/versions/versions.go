// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/install"
	"github.com/fairlead-dev/fairlead/internal/version"
)

type options struct {
	genericiooptions.IOStreams
	output string
	client bool
	flags  *genericclioptions.ConfigFlags
}

// New returns the command `hostctl version`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{IOStreams: streams, flags: connect.Flags()}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of hostctl, the host and its members",
		Long: `version shows the versions of hostctl, of the host and of its members, as the host has recorded them. The version of a member
is the one that its collector reports. On stderr it warns if releases differ by more than one minor version, and if a member
is older than the host needs. The version of a build that is
not a release contains the time of its commit, and hostctl compares such builds by that time.

If the host does not answer, it prints only hostctl's own version, and exits with 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch o.output {
			case "", "json", "yaml":
			default:
				return exit.Usagef("--output %q: give json or yaml", o.output)
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "json or yaml (default text)")
	cmd.Flags().BoolVar(&o.client, "client", false, "show hostctl's own version only, and contact no cluster")
	o.flags.AddFlags(cmd.Flags())
	cmd.Flags().Lookup("kubeconfig").Usage = "kubeconfig of the host"
	cmd.Flags().Lookup("context").Usage = "context of the host in its kubeconfig"
	cmd.Flags().Lookup("namespace").Hidden = true // versions belong to no namespace
	return cmd
}

func (o *options) run(ctx context.Context) error {
	v := &install.Versions{Client: version.String()}
	var failed error
	if !o.client {
		cfg, err := connect.Config(o.flags)
		if err != nil {
			failed = err
		} else if v, err = install.ReadVersions(ctx, cfg, v.Client); err != nil {
			failed = fmt.Errorf("reading the versions of the host: %w", err)
		}
	}
	if err := write(o.Out, v, o.output); err != nil {
		return err
	}
	for _, warning := range v.Warnings {
		_, _ = fmt.Fprintf(o.ErrOut, "! %s\n", warning) // an error here cannot be shown: stderr is closed
	}
	return failed
}

func write(out io.Writer, v *install.Versions, format string) error {
	if format == encode.JSON || format == encode.YAML {
		return encode.To(out, format, v)
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintf(w, "hostctl\t%s\n", v.Client) // Flush returns the error
	if v.Host != nil {
		_, _ = fmt.Fprintf(w, "host\t%s\tKubernetes %s\t%s\n", cmp.Or(v.Host.Version, "unknown"), v.Host.KubernetesVersion, v.Host.Image)
	}
	for _, m := range v.Members {
		outdated := ""
		if m.Outdated != "" {
			outdated = ", outdated"
		}
		_, _ = fmt.Fprintf(w, "member %s\t%s\tKubernetes %s\tcollector: %s%s\n", m.Name, cmp.Or(m.CollectorVersion, "unknown"),
			cmp.Or(m.KubernetesVersion, "unknown"), m.Collector, outdated)
	}
	return w.Flush()
}
