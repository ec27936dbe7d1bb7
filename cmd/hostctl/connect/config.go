// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// defaultHost is the address that client-go uses if neither a kubeconfig nor a pod's service account names a cluster.
const defaultHost = "http://localhost:8080"

// errNoCluster tells that the user has named no cluster. Some other program may listen at defaultHost, and its answers would be
// reported as those of the host.
var errNoCluster = errors.New("it is absent, or has no current context with a cluster: set $KUBECONFIG, or pass --kubeconfig or --context. " +
	"For the sandbox, run eval \"$(hostctl sandbox env)\"")

// Config returns the configuration of a client for the cluster that the flags select.
func Config(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	if config.Host != defaultHost {
		return config, nil
	}
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err == nil && !chooses(&raw, *flags.Context) {
		err = errNoCluster
	}
	if err != nil {
		return nil, fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	return config, nil
}

// chooses reports whether a kubeconfig has a cluster for this context, or for its current context if context is "".
func chooses(raw *clientcmdapi.Config, context string) bool {
	chosen := raw.Contexts[cmp.Or(context, raw.CurrentContext)]
	return chosen != nil && raw.Clusters[chosen.Cluster] != nil
}
