// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
)

// Connections has the flags for two connections: one to the host, and one to the cluster that joins or leaves.
type Connections struct {
	host                              *genericclioptions.ConfigFlags
	clusterKubeconfig, clusterContext string
}

// AddFlags adds the flags to f. Of kubectl's flags for the host it adds only --kubeconfig and --context: --cluster and --server have another
// meaning in hostctl.
func (c *Connections) AddFlags(f *pflag.FlagSet) {
	c.host = &genericclioptions.ConfigFlags{KubeConfig: ptr.To(""), Context: ptr.To("")}
	c.host.AddFlags(f)
	f.Lookup("kubeconfig").Usage = "kubeconfig of the host"
	f.Lookup("context").Usage = "context of the host in its kubeconfig"
	f.StringVar(&c.clusterKubeconfig, "cluster-kubeconfig", "", "kubeconfig of the member's cluster, with cluster-admin rights there "+
		"(default the host's kubeconfig, if --cluster-context is given)")
	f.StringVar(&c.clusterContext, "cluster-context", "", "context of the member's cluster in its kubeconfig")
}

// HostFlags returns the values of the flags for the host. Call AddFlags before.
func (c *Connections) HostFlags() *genericclioptions.ConfigFlags { return c.host }

// Host returns the client configuration for the host, and the name of the host's cluster entry in the kubeconfig.
func (c *Connections) Host() (*rest.Config, string, error) {
	raw, err := c.host.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the host's kubeconfig: %w", err)
	}
	cfg, err := connect.Config(c.host)
	if err != nil {
		return nil, "", err
	}
	name := "host"
	if context, ok := raw.Contexts[cmp.Or(*c.host.Context, raw.CurrentContext)]; ok && context.Cluster != "" {
		name = context.Cluster
	}
	return cfg, name, nil
}

// HasMember reports whether the user gave --cluster-kubeconfig or --cluster-context.
func (c *Connections) HasMember() bool { return c.clusterKubeconfig != "" || c.clusterContext != "" }

// Member returns the client configuration for the cluster that joins or leaves.
func (c *Connections) Member() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = cmp.Or(c.clusterKubeconfig, *c.host.KubeConfig)
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.clusterContext})
	cfg, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("reading the cluster's kubeconfig: there is no cluster in %s. Give another file with --cluster-kubeconfig, or a context with --cluster-context",
			cmp.Or(rules.ExplicitPath, rules.GetDefaultFilename()))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	return cfg, nil
}
