// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
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

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{IOStreams: streams, flags: connect.Flags()}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of hostctl, the host and its members",
		Long: `version shows the versions of hostctl, of the host and of its members, as far as the host knows them. On stderr it warns if
releases differ by more than one minor version, and if a member is older than the host needs. A build that is no release has
the time of its commit in its version; such builds are compared by that time.

It prints hostctl's own version also if the host does not answer, and then exits with 1.`,
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
	cmd.Flags().Lookup("namespace").Hidden = true // versions have none
	return cmd
}

func (o *options) run(ctx context.Context) error {
	v := &install.Versions{Client: version.String()}
	var failed error
	if !o.client {
		cfg, err := o.flags.ToRESTConfig()
		if err != nil {
			failed = fmt.Errorf("reading the host's kubeconfig: %w", err)
		} else if v, err = install.ReadVersions(ctx, cfg, v.Client); err != nil {
			failed = fmt.Errorf("reading the versions of the host: %w", err)
		}
	}
	if err := write(o.Out, v, o.output); err != nil {
		return err
	}
	for _, warning := range v.Warnings {
		_, _ = fmt.Fprintf(o.ErrOut, "! %s\n", warning) // if stderr is closed, there is nowhere else to write
	}
	return failed
}

func write(out io.Writer, v *install.Versions, format string) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	case "yaml":
		content, err := yaml.Marshal(v)
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintf(w, "hostctl\t%s\n", v.Client) // Flush says what went wrong
	if v.Host != nil {
		_, _ = fmt.Fprintf(w, "host\t%s\tKubernetes %s\t%s\n", cmp.Or(v.Host.Version, "unknown"), v.Host.KubernetesVersion, v.Host.Image)
	}
	for _, m := range v.Members {
		state := "not known to be outdated"
		switch {
		case m.Outdated != "":
			state = "outdated"
		case m.Collector == v1alpha1.CollectorHost:
			state = "as the host"
		}
		_, _ = fmt.Fprintf(w, "member %s\t%s\tKubernetes %s\tcollector: %s\n", m.Name, state, cmp.Or(m.KubernetesVersion, "unknown"), m.Collector)
	}
	return w.Flush()
}
