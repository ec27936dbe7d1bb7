// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

func newEnv(streams genericiooptions.IOStreams) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "env",
		Short: `Print shell commands that point kubectl at a sandbox: eval "$(hostctl sandbox env)"`,
		Long: `Prints shell commands that
  - set KUBECONFIG to a file with the contexts host, member-1 and so on; host is the current one
  - set KUBECACHEDIR to a folder of the sandbox, for kubectl's cache
  - put the sandbox's kubectl first on PATH`,
		Example: `  eval "$(hostctl sandbox env)"`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := sandbox.Open(name)
			if err != nil {
				return err
			}
			kubeconfig, err := s.Kubeconfig("")
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(streams.Out, exports(kubeconfig, s.KubectlCache(), s.Binaries()))
			return err
		},
	}
	nameFlag(cmd, &name)
	return cmd
}

func exports(kubeconfig, cache, binaries string) string {
	return fmt.Sprintf("export KUBECONFIG=%s\nexport KUBECACHEDIR=%s\nexport PATH=%s:\"$PATH\"\n",
		quote(kubeconfig), quote(cache), quote(binaries))
}

// quote quotes a path, so that a POSIX shell takes it as one word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func newKubeconfig(streams genericiooptions.IOStreams) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "kubeconfig [CLUSTER]",
		Short: "Print the path of a cluster's kubeconfig, or of the kubeconfig with all clusters",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := sandbox.Open(name)
			if err != nil {
				return err
			}
			path, err := s.Kubeconfig(strings.Join(args, ""))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(streams.Out, path)
			return err
		},
	}
	nameFlag(cmd, &name)
	cmd.ValidArgsFunction = completeCluster(&name)
	return cmd
}
