// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// layout has the names of the clusters and the paths of their files.
type layout struct {
	name, dir string // Options.Name and Options.Dir
}

// kindName is the name that a cluster has for kind.
func (l layout) kindName(name string) string { return l.name + "-" + name }

// address is the URL of a cluster's API server in the network of the clusters.
func (l layout) address(name string) string {
	return "https://" + l.kindName(name) + "-control-plane:6443"
}

// kindKubeconfig is the path where kind writes a cluster's kubeconfig. Without it, kind would change the user's own kubeconfig.
func (l layout) kindKubeconfig(name string) string {
	return filepath.Join(l.dir, name+".kind.kubeconfig")
}

// kubeconfig is the path of a cluster's kubeconfig. If name is "", it is the path of the kubeconfig with a context for every cluster.
func (l layout) kubeconfig(name string) string {
	if name == "" {
		return filepath.Join(l.dir, "kubeconfig")
	}
	return filepath.Join(l.dir, name+".kubeconfig")
}

// internalKubeconfig is the path of a kubeconfig for the host that works only in the network of the clusters.
func (l layout) internalKubeconfig() string { return filepath.Join(l.dir, "host.internal.kubeconfig") }

// existing returns those of kind's clusters that have a name of the layout. Unless they are to be kept, it returns an error: they may be
// the user's own.
func (l layout) existing(all []string, keep bool) (ours []string, err error) {
	for _, name := range names() {
		if slices.Contains(all, l.kindName(name)) {
			ours = append(ours, l.kindName(name))
		}
	}
	if len(ours) > 0 && !keep {
		return nil, fmt.Errorf("kind has clusters of these names already, which may be yours: %s. "+
			"Use them with KEEP=1, or delete them with: kind delete clusters %[1]s", strings.Join(ours, " "))
	}
	return ours, nil
}

// create makes the clusters that do not exist, all at the same time, and writes the kubeconfigs of all clusters.
func create(kind *cluster.Provider, l layout, o Options, existing []string, p *progress.Printer) error {
	errs := make([]error, len(names()))
	var wait sync.WaitGroup
	for i, name := range names() {
		if slices.Contains(existing, l.kindName(name)) {
			p.Note("%s: the cluster %s of kind exists", name, l.kindName(name))
			continue
		}
		wait.Go(func() {
			size := "1 node"
			if more := workers[name]; more > 0 {
				size = fmt.Sprintf("%d nodes", 1+more)
			}
			step := p.Step("%s: making a cluster of kind with %s", name, size)
			nodes := []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}
			for range workers[name] {
				nodes = append(nodes, v1alpha4.Node{Role: v1alpha4.WorkerRole})
			}
			errs[i] = withOutput(kind.Create(l.kindName(name),
				cluster.CreateWithV1Alpha4Config(&v1alpha4.Cluster{Nodes: nodes}), cluster.CreateWithNodeImage(o.nodeImage(name)),
				cluster.CreateWithWaitForReady(upWithin), cluster.CreateWithKubeconfigPath(l.kindKubeconfig(name)),
				cluster.CreateWithDisplayUsage(false), cluster.CreateWithDisplaySalutation(false)))
			if errs[i] != nil {
				step.Fail(errs[i])
				return
			}
			step.Donef("%s: %s runs with %s", name, l.kindName(name), size)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("making clusters of kind: %w", err)
	}
	return writeKubeconfigs(kind, l)
}

// writeKubeconfigs writes a kubeconfig for each cluster, and one with a context for every cluster. A context has the suite's name of
// its cluster, for example member-1.
func writeKubeconfigs(kind *cluster.Provider, l layout) error {
	all := clientcmdapi.NewConfig()
	all.CurrentContext = provider.Host
	for _, name := range names() {
		content, err := kind.KubeConfig(l.kindName(name), false)
		if err != nil {
			return fmt.Errorf("reading the kubeconfig of %s: %w", name, err)
		}
		theirs, err := clientcmd.Load([]byte(content))
		if err != nil {
			return fmt.Errorf("reading the kubeconfig of %s: %w", name, err)
		}
		context := theirs.Contexts[theirs.CurrentContext]
		one := clientcmdapi.NewConfig()
		one.CurrentContext = name
		one.Clusters[name], one.AuthInfos[name] = theirs.Clusters[context.Cluster], theirs.AuthInfos[context.AuthInfo]
		one.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
		all.Clusters[name], all.AuthInfos[name], all.Contexts[name] = one.Clusters[name], one.AuthInfos[name], one.Contexts[name]
		path := l.kubeconfig(name)
		if err := clientcmd.WriteToFile(*one, path); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return clientcmd.WriteToFile(*all, l.kubeconfig(""))
}
