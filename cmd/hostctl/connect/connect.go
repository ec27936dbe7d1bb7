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

// Flags returns the flags --kubeconfig, --context, --namespace and --request-timeout, as kubectl defines them. It leaves out kubectl's
// --cluster, which names an entry of the kubeconfig: in hostctl, --cluster chooses a member.
func Flags() *genericclioptions.ConfigFlags {
	all := genericclioptions.NewConfigFlags(true)
	return &genericclioptions.ConfigFlags{KubeConfig: all.KubeConfig, Context: all.Context, Namespace: all.Namespace, Timeout: all.Timeout}
}

// Namespace returns the namespace of the flag --namespace, or by default the namespace of the kubeconfig's context.
func Namespace(flags *genericclioptions.ConfigFlags) (string, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	return namespace, nil
}

// Host returns a client for the cluster that the flags select. It sends no request yet.
func Host(flags *genericclioptions.ConfigFlags) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return HostWith(flags, scheme)
}

// HostWith does the same as Host with the caller's scheme, for a command that reads other kinds than Fairlead's. Each option can change
// the client's configuration.
func HostWith(flags *genericclioptions.ConfigFlags, scheme *runtime.Scheme, options ...func(*rest.Config)) (client.Client, error) {
	config, err := Config(flags)
	if err != nil {
		return nil, err
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

// WatchableHostWith does the same as HostWith, and returns a client that can also watch.
func WatchableHostWith(flags *genericclioptions.ConfigFlags, scheme *runtime.Scheme) (client.WithWatch, error) {
	config, err := Config(flags)
	if err != nil {
		return nil, err
	}
	host, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the host: %w", err)
	}
	return host, nil
}

// WithWarnings returns an option for HostWith: the client calls the function show with each warning that the API server sends. Without this option
// hostctl shows no warnings.
func WithWarnings(show func(text string)) func(*rest.Config) {
	return func(config *rest.Config) { config.WarningHandler = warningHandler(show) }
}

type warningHandler func(text string)

// HandleWarningHeader implements rest.WarningHandler. An API server sends warnings with the code 299 only.
func (show warningHandler) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" {
		show(text)
	}
}
