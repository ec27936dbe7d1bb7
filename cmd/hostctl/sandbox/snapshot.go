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
		Short: "Write all that the host remembers into a new file: a backup",
		Long: `Stops the host, writes the folder of its etcd into FILE, and starts the host again. Members run on. There are Secrets in
the file, so that only its owner can read it; it dies with the sandbox, whose keys are not in it.`,
		Example: `  hostctl sandbox snapshot before.tar.gz`,
	}, "taking a snapshot of the host into %s", "%s holds what the host remembers now", nil, (*sandbox.Sandbox).Snapshot)
}

func newRestore(streams genericiooptions.IOStreams) *cobra.Command {
	return withArgument(streams, &cobra.Command{
		Use:   "restore FILE",
		Short: "Have the host remember what it did when a snapshot was taken, and nothing since",
		Long: `Reads FILE to its end, stops the host with its manager, puts what FILE holds in place of its etcd's data, and starts it
again. Members run on and keep what they hold, so that the host is behind them: "hostctl recover" shows what follows. A file
that is damaged or of another sandbox is refused, and a host that does not come up with it gets its own data back.`,
		Example: `  hostctl sandbox restore before.tar.gz`,
	}, "restoring the host from %s", "the host remembers what %s holds", nil, (*sandbox.Sandbox).Restore)
}
