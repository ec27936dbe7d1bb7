// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
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

// HostWith is Host for a command that also reads kinds that are not Fairlead's. Options may change the connection.
func HostWith(flags *genericclioptions.ConfigFlags, scheme *runtime.Scheme, options ...func(*rest.Config)) (client.Client, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	for _, option := range options {
		option(config)
	}
	host, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the host: %w", err)
	}
	return host, nil
}

// WithWarnings gives show each warning that comes with an answer of the API server. Without it hostctl shows none of them.
func WithWarnings(show func(text string)) func(*rest.Config) {
	return func(config *rest.Config) { config.WarningHandler = warningHandler(show) }
}

type warningHandler func(text string)

// HandleWarningHeader implements rest.WarningHandler. 299 is the only code that an API server sends.
func (show warningHandler) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" {
		show(text)
	}
}
