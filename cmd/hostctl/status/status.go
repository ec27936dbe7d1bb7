// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/install"
)

type options struct {
	genericiooptions.IOStreams
	output string
	flags  *genericclioptions.ConfigFlags
}

// New returns the command `hostctl status`.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{IOStreams: streams, flags: connect.Flags()}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show in one screen whether the host, the members and the wrappers have problems",
		Long: `status shows the manager's replicas and its leader, whether the webhooks answer, and the states of the members and of the
wrappers. Members with the same state share a line, and so do wrappers. status reads only the host, and contacts no member.

Exit codes: 0 if there is no problem, 1 if there is a problem or the host does not answer. A wrapper that is not Ready yet
does not count as a problem. A wrapper that is degraded or stalled does, and so does a member that is older than the host.`,
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
	o.flags.AddFlags(cmd.Flags())
	cmd.Flags().Lookup("kubeconfig").Usage = "kubeconfig of the host"
	cmd.Flags().Lookup("context").Usage = "context of the host in its kubeconfig"
	cmd.Flags().Lookup("namespace").Hidden = true // status shows the wrappers of all namespaces
	return cmd
}

func (o *options) run(ctx context.Context) error {
	cfg, err := connect.Config(o.flags)
	if err != nil {
		return err
	}
	s, err := install.ReadStatus(ctx, cfg)
	if err != nil {
		return fmt.Errorf("reading the status of the host: %w", err)
	}
	if err := write(o.Out, s, o.output); err != nil {
		return err
	}
	if !s.Healthy {
		return exit.Silently(exit.Failed)
	}
	return nil
}

func write(out io.Writer, s *install.Status, format string) error {
	if format == encode.JSON || format == encode.YAML {
		return encode.To(out, format, s)
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) } // Flush returns the error
	line("HOST\t%s, Kubernetes %s", s.Endpoint, s.KubernetesVersion)
	line("version\t%s", cmp.Or(s.Version, "unknown"))
	switch {
	case s.Image != "":
		line("manager\t%d of %d replicas ready, %s", s.Manager.Ready, s.Manager.Replicas, s.Image)
	case s.Manager.Leader != "":
		line("manager\toutside the cluster")
	default:
		line("manager\tnot installed")
	}
	if s.Manager.Leader != "" {
		line("leader\t%s, renewed %s ago", s.Manager.Leader, s.ReadTime.Sub(s.Manager.Renewed.Time).Round(time.Second))
	}
	line("webhooks\t%s", strings.ToLower(s.Webhooks[:1])+s.Webhooks[1:])
	line("\nMEMBERS\t%d", count(s.Members))
	groups(line, s.Members)
	c := s.Clusters
	line("\nWRAPPERS\t%d, placed on %s in total: %d updated, %d healthy, %d progressing, %d degraded, %d stalled, %d held, %d unreachable",
		count(s.Wrappers), messages.Count(int(c.Placed), "cluster"), c.Updated, c.Healthy, c.Progressing, c.Degraded, c.Stalled, c.Held, c.Unreachable)
	groups(line, s.Wrappers)
	if s.Healthy {
		line("\n✓ all is well")
	} else {
		line("")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, problem := range s.Problems {
		if _, err := fmt.Fprintf(out, "✗ %s\n", problem); err != nil {
			return err
		}
	}
	return nil
}

func count(groups []install.Group) (sum int) {
	for _, g := range groups {
		sum += g.Count
	}
	return sum
}

func groups(line func(string, ...any), all []install.Group) {
	for _, g := range all {
		state := "Ready"
		if g.Ready != metav1.ConditionTrue {
			state = "not Ready"
		}
		names := strings.Join(g.Names, ", ")
		if more := g.Count - len(g.Names); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		line("%d %s\t%s: %s", g.Count, state, g.Reason, names)
		if g.Ready != metav1.ConditionTrue && g.Message != "" {
			line("\t  %s", g.Message)
		}
	}
}
