// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// upWithin bounds the time in which kind makes one cluster with Ready nodes.
const upWithin = 10 * time.Minute

// Options determine the names, folders and images of the clusters.
type Options struct {
	// Name is the first part of the names of kind's clusters: NAME-host, NAME-member-1, …
	Name string
	// Dir is the folder for the clusters' kubeconfigs.
	Dir string
	// Programs is the folder with the built hostctl.
	Programs string
	// Images is the folder with the images that `make images` wrote.
	Images string
	// NodeImage is the container image of the nodes, in which kubelet and control plane run.
	NodeImage string
	// Keep makes Up use clusters that exist already. Without it, Up refuses them.
	Keep bool
}

// Clusters are a host and two members, each a cluster of kind.
type Clusters struct {
	options Options
	kind    *cluster.Provider
	kubectl string
}

var _ provider.Provider = (*Clusters)(nil)

// workers is the number of worker nodes of a cluster. Each cluster has one control-plane node besides.
var workers = map[string]int{provider.Host: 0, "member-1": 0, "member-2": 2}

func names() []string { return []string{provider.Host, "member-1", "member-2"} }

// Up makes the clusters, installs Fairlead on the host and joins the members.
func Up(ctx context.Context, o Options, p *progress.Printer) (*Clusters, error) {
	c := &Clusters{options: o, kind: cluster.NewProvider(cluster.ProviderWithDocker())}
	nodes := 0
	for _, more := range workers {
		nodes += 1 + more
	}
	if err := preflight(ctx, o.NodeImage, nodes); err != nil {
		return nil, err
	}
	var err error
	if c.kubectl, err = findKubectl(); err != nil {
		return nil, err
	}
	existing, err := c.kind.List()
	if err != nil {
		return nil, fmt.Errorf("listing the clusters of kind: %w", err)
	}
	existing = slices.DeleteFunc(existing, func(name string) bool {
		return !slices.ContainsFunc(names(), func(ours string) bool { return name == c.kindName(ours) })
	})
	if len(existing) > 0 && !o.Keep {
		return nil, fmt.Errorf("kind has clusters of these names already, which may be yours: %s. "+
			"Use them with KEEP=1, or delete them with: kind delete clusters %[1]s", strings.Join(existing, " "))
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.create(existing, p); err != nil {
		return nil, err
	}
	if err := c.loadImages(ctx, p); err != nil {
		return nil, err
	}
	return c, c.federate(ctx, p)
}

func (c *Clusters) kindName(name string) string { return c.options.Name + "-" + name }

// create makes the clusters that do not exist, all at the same time.
func (c *Clusters) create(existing []string, p *progress.Printer) error {
	errs := make([]error, len(names()))
	var wait sync.WaitGroup
	for i, name := range names() {
		if slices.Contains(existing, c.kindName(name)) {
			p.Note("%s: the cluster %s of kind exists", name, c.kindName(name))
			continue
		}
		wait.Go(func() {
			step := p.Step("%s: making a cluster of kind with %d nodes", name, 1+workers[name])
			nodes := []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}
			for range workers[name] {
				nodes = append(nodes, v1alpha4.Node{Role: v1alpha4.WorkerRole})
			}
			errs[i] = withOutput(c.kind.Create(c.kindName(name),
				cluster.CreateWithV1Alpha4Config(&v1alpha4.Cluster{Nodes: nodes}), cluster.CreateWithNodeImage(c.options.NodeImage),
				cluster.CreateWithWaitForReady(upWithin), cluster.CreateWithKubeconfigPath(c.kindKubeconfig(name)),
				cluster.CreateWithDisplayUsage(false), cluster.CreateWithDisplaySalutation(false)))
			if errs[i] != nil {
				step.Fail(errs[i])
				return
			}
			step.Donef("%s: %s runs with %d nodes", name, c.kindName(name), 1+workers[name])
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("making clusters of kind: %w", err)
	}
	return c.writeKubeconfigs()
}

// kindKubeconfig is the path where kind writes a cluster's kubeconfig. Without it, kind would change the user's own kubeconfig.
func (c *Clusters) kindKubeconfig(name string) string {
	return filepath.Join(c.options.Dir, name+".kind.kubeconfig")
}

// writeKubeconfigs writes a kubeconfig for each cluster, and one with a context for every cluster. A context has the suite's name of
// its cluster, for example member-1.
func (c *Clusters) writeKubeconfigs() error {
	all := clientcmdapi.NewConfig()
	all.CurrentContext = provider.Host
	for _, name := range names() {
		content, err := c.kind.KubeConfig(c.kindName(name), false)
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
		path, _ := c.Kubeconfig(name)
		if err := clientcmd.WriteToFile(*one, path); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	path, _ := c.Kubeconfig("")
	return clientcmd.WriteToFile(*all, path)
}

// findKubectl looks for kubectl on PATH, and then in the folder where `make kind-node` puts it.
func findKubectl() (string, error) {
	if path, err := exec.LookPath("kubectl"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return exec.LookPath(filepath.Join(cache, "fairlead", "kind-node", "kubectl"))
}

// MemberNames implements provider.Provider.
func (c *Clusters) MemberNames() []string { return names()[1:] }

// Kubeconfig implements provider.Provider.
func (c *Clusters) Kubeconfig(name string) (string, error) {
	if name == "" {
		return filepath.Join(c.options.Dir, "kubeconfig"), nil
	}
	return filepath.Join(c.options.Dir, name+".kubeconfig"), nil
}

// RESTConfig implements provider.Provider.
func (c *Clusters) RESTConfig(name string) (*rest.Config, error) {
	path, err := c.Kubeconfig(name)
	if err != nil {
		return nil, err
	}
	return clientcmd.BuildConfigFromFlags("", path)
}

// Environment implements provider.Provider.
func (c *Clusters) Environment() []string {
	return []string{
		"KUBECACHEDIR=" + filepath.Join(c.options.Dir, "kubectl-cache"),
		"PATH=" + filepath.Dir(c.kubectl) + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
}

// Down implements provider.Provider.
func (c *Clusters) Down(context.Context) error {
	var errs []error
	for _, name := range names() {
		errs = append(errs, c.kind.Delete(c.kindName(name), c.kindKubeconfig(name)))
	}
	return errors.Join(append(errs, os.RemoveAll(c.options.Dir))...)
}
