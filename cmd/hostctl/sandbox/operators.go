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

// newRunOperators is the process that runs the demo operator where its pods are simulated; `up --olm` starts it.
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

// newDemoOperator is the operator itself; run-operators starts it, a process for each of its Deployments.
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
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "file that speaks as the operator's service account")
	cmd.Flags().StringVar(&o.Namespace, "namespace", "", "namespace to serve; empty = all")
	cmd.Flags().StringVar(&o.Version, "version", demooperator.Versions()[0], "which of its versions to be")
	return cmd
}

// logging sends what these two have to say where their supervisor keeps it.
func logging(ctx context.Context) context.Context {
	log.SetLogger(klog.Background())
	return log.IntoContext(ctx, klog.Background())
}
