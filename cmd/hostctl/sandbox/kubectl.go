// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
)

func newKubectl(streams genericiooptions.IOStreams) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "kubectl CLUSTER -- ARGS…",
		Short:   "Run kubectl against a cluster of a sandbox",
		Long:    "Runs the sandbox's own kubectl as an administrator of CLUSTER, and exits with kubectl's exit code.",
		Example: "  hostctl sandbox kubectl member-1 -- get pods -A",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := sandbox.Open(name)
			if err != nil {
				return err
			}
			return runKubectl(streams, s, args[0], args[1:])
		},
	}
	nameFlag(cmd, &name)
	cmd.ValidArgsFunction = completeCluster(&name)
	// Everything after the name of the cluster belongs to kubectl, with or without two dashes: `kubectl member-1 get pods -A`.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func runKubectl(streams genericiooptions.IOStreams, s *sandbox.Sandbox, cluster string, args []string) error {
	kubeconfig, err := s.Kubeconfig(cluster)
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "--" { // cobra leaves the dashes in args, because it stops reading flags at the first argument
		args = args[1:]
	}
	// At Ctrl-C the terminal sends the interrupt to kubectl too, and kubectl decides how to end. So hostctl ignores the interrupt. It does
	// not use exec.CommandContext, because the end of the Go context would kill kubectl.
	signal.Ignore(os.Interrupt)
	defer signal.Reset(os.Interrupt)
	cmd := exec.Command(filepath.Join(s.Binaries(), binaries.Kubectl), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+s.KubectlCache())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.ErrOut
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return exit.Silently(ended.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("running kubectl for %s: %w", cluster, err)
	}
	return nil
}
