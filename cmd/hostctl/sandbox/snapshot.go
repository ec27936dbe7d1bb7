// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

func newSnapshot(streams genericiooptions.IOStreams) *cobra.Command {
	return withArgument(streams, &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Back up the host's state into a new file",
		Long: `Stops the host, writes the data of its etcd into FILE, and starts the host again. Members keep running. Only the owner can read
FILE, because it holds Secrets. The sandbox's keys are not in it, so it can be restored only into the same sandbox.`,
		Example: `  hostctl sandbox snapshot before.tar.gz`,
	}, "taking a snapshot of the host into %s", "%s holds the host's present state", nil, (*sandbox.Sandbox).Snapshot)
}

func newRestore(streams genericiooptions.IOStreams) *cobra.Command {
	return withArgument(streams, &cobra.Command{
		Use:   "restore FILE",
		Short: "Reset the host to the state of a snapshot",
		Long: `Checks FILE, stops the host with its manager, replaces the data of its etcd by the data in FILE, and starts the host again. Members
keep running and keep their objects, so they can be ahead of the host then: "hostctl recover" shows where. A file that is
damaged or belongs to another sandbox is refused. If the host does not start with the new data, it gets its own data back.`,
		Example: `  hostctl sandbox restore before.tar.gz`,
	}, "restoring the host from %s", "the host has the state that %s holds", nil, (*sandbox.Sandbox).Restore)
}
