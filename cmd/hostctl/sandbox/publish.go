// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

func newPublish(streams genericiooptions.IOStreams) *cobra.Command {
	var name string
	versions := demooperator.Versions()
	cmd := &cobra.Command{
		Use:   "publish VERSION",
		Short: "Add a version of the demo operator to every member's catalog",
		Long: `Adds a version of the demo operator to the catalog of every member, and waits until each member serves it. OLM then upgrades the
operator by itself if its Subscription has installPlanApproval: Automatic. publish needs a sandbox that was started with --olm.

The versions are ` + strings.Join(versions, ", ") + `. Each version replaces the previous version. ` + versions[0] + ` is in the catalogs from the start.`,
		Example:   "  hostctl sandbox publish " + versions[1],
		Args:      cobra.ExactArgs(1),
		ValidArgs: versions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(versions, args[0]) {
				return exit.Usagef("there is no version %q of %s: there are %s", args[0], demooperator.Name, strings.Join(versions, ", "))
			}
			s, err := sandbox.Open(name)
			if err != nil {
				return err
			}
			return s.Publish(cmd.Context(), args[0], progress.New(streams.ErrOut))
		},
	}
	nameFlag(cmd, &name)
	return cmd
}
