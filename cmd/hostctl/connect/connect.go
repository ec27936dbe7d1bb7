// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Flags are --kubeconfig, --context, --namespace and --request-timeout. kubectl's --cluster is left out: in hostctl that flag
// chooses members, not an entry of the kubeconfig.
func Flags() *genericclioptions.ConfigFlags {
	all := genericclioptions.NewConfigFlags(true)
	return &genericclioptions.ConfigFlags{KubeConfig: all.KubeConfig, Context: all.Context, Namespace: all.Namespace, Timeout: all.Timeout}
}

// Namespace returns the namespace of the flags, or else of the kubeconfig's context.
func Namespace(flags *genericclioptions.ConfigFlags) (string, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	return namespace, nil
}

// Host makes a client for the cluster that the flags select. It sends no request yet.
func Host(flags *genericclioptions.ConfigFlags) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return HostWith(flags, scheme)
}

// HostWith is Host for a command that also reads kinds that are not Fairlead's.
func HostWith(flags *genericclioptions.ConfigFlags, scheme *runtime.Scheme) (client.Client, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	host, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the host: %w", err)
	}
	return host, nil
}
