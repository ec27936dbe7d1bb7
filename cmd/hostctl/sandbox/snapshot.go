// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

func newSnapshot(streams genericiooptions.IOStreams) *cobra.Command {
	return withFile(streams, &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Write all that the host remembers into a new file: a backup",
		Long: `Stops the host, writes the folder of its etcd into FILE, and starts the host again. Members run on. There are Secrets in
the file, so that only its owner can read it; it dies with the sandbox, whose keys are not in it.`,
		Example: `  hostctl sandbox snapshot before.tar.gz`,
	}, "taking a snapshot of the host into %s", "%s holds what the host remembers now", (*sandbox.Sandbox).Snapshot)
}

func newRestore(streams genericiooptions.IOStreams) *cobra.Command {
	return withFile(streams, &cobra.Command{
		Use:   "restore FILE",
		Short: "Have the host remember what it did when a snapshot was taken, and nothing since",
		Long: `Reads FILE to its end, stops the host with its manager, puts what FILE holds in place of its etcd's data, and starts it
again. Members run on and keep what they hold, so that the host is behind them: "hostctl recover" shows what follows. A file
that is damaged or of another sandbox is refused, and a host that does not come up with it gets its own data back.`,
		Example: `  hostctl sandbox restore before.tar.gz`,
	}, "restoring the host from %s", "the host remembers what %s holds", (*sandbox.Sandbox).Restore)
}

// withFile completes a command that does one thing with one file.
func withFile(
	streams genericiooptions.IOStreams, cmd *cobra.Command, doing, done string,
	do func(*sandbox.Sandbox, context.Context, string) error,
) *cobra.Command {
	var name string
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := sandbox.Open(name)
		if err != nil {
			return err
		}
		step := progress.New(streams.ErrOut).Step(doing, args[0])
		if err := do(s, cmd.Context(), args[0]); err != nil {
			step.Skip()
			return err
		}
		step.Donef(done, args[0])
		return nil
	}
	nameFlag(cmd, &name)
	return cmd
}
