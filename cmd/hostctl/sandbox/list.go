// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

type listOptions struct {
	genericiooptions.IOStreams
	output string
}

func newList(streams genericiooptions.IOStreams) *cobra.Command {
	o := &listOptions{IOStreams: streams}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the sandboxes of this machine",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "json, yaml or name (default a table)")
	return cmd
}

func (o *listOptions) validate() error {
	switch o.output {
	case "", "json", "yaml", "name":
		return nil
	}
	return exit.Usagef("--output %q: give json, yaml or name", o.output)
}

func (o *listOptions) run(ctx context.Context) error {
	list, err := sandbox.List(ctx)
	if err != nil {
		return err
	}
	return printList(o.Out, list, o.output, time.Now())
}

func printList(out io.Writer, list []sandbox.ListItem, format string, now time.Time) error {
	if list == nil {
		list = []sandbox.ListItem{} // JSON then has [] and not null
	}
	switch format {
	case encode.JSON, encode.YAML:
		return encode.To(out, format, list)
	case "name":
		for _, s := range list {
			if _, err := fmt.Fprintln(out, s.Name); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tCLUSTERS\tSTATUS\tVERSION\tAGE") // Flush returns the error
	for _, s := range list {
		version := s.Version
		if version == "" {
			version = "-"
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", s.Name, len(s.Clusters), s.Status, version, duration.HumanDuration(now.Sub(s.Created)))
	}
	return w.Flush()
}
