// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

// newRunOperators returns a hidden command that runs the demo operator as processes on this machine: the pods of the sandbox are only
// simulated. `up --olm` starts a process of this command.
func newRunOperators() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:    "run-operators",
		Short:  "Run the demo operator on members that have its Deployment",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			return sandbox.RunOperators(logging(cmd.Context()), name, program)
		},
	}
	nameFlag(cmd, &name)
	return cmd
}

// newDemoOperator returns a hidden command that is the demo operator itself. run-operators starts a process of it for each Deployment of
// the operator. With a real kubelet it runs in the operator's pod: then the credentials are the pod's own, and OLM's annotation of the pod tells the
// namespace, in the variable WATCH_NAMESPACE.
func newDemoOperator() *cobra.Command {
	var kubeconfig string
	var o demooperator.Options
	cmd := &cobra.Command{
		Use:    "demo-operator",
		Short:  "Run one version of the demo operator",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.REST, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
				return fmt.Errorf("reading --kubeconfig: %w", err)
			}
			return demooperator.Run(logging(cmd.Context()), o)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the operator's service account (default the pod's own)")
	cmd.Flags().StringVar(&o.Namespace, "namespace", os.Getenv("WATCH_NAMESPACE"), "namespace to serve (default $WATCH_NAMESPACE, or all)")
	cmd.Flags().StringVar(&o.Version, "version", demooperator.Versions()[0], "version of the operator to run")
	return cmd
}

// logging makes these two commands log to standard error. The sandbox's supervisor writes their standard error into a file.
func logging(ctx context.Context) context.Context {
	log.SetLogger(klog.Background())
	return log.IntoContext(ctx, klog.Background())
}
