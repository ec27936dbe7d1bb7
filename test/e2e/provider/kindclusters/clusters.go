// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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
	// Fairlead is the version that Up installs.
	Fairlead Version
	// NodeImage is the container image of the nodes, in which kubelet and control plane run.
	NodeImage string
	// OtherNodeImage is that of member-3, which may run another version of Kubernetes; "" means NodeImage.
	OtherNodeImage string
	// Keep makes Up use clusters that exist already. Without it, Up refuses them.
	Keep bool
}

// Version is a built version of Fairlead.
type Version struct {
	// Programs is the folder with the built hostctl.
	Programs string
	// Images is the folder with the images that `make images` wrote.
	Images string
}

// Clusters are a host and three members, each a cluster of kind.
type Clusters struct {
	options Options
	layout  layout
	kind    *cluster.Provider
	kubectl string
	host    Version // of the host part
	// InNetwork is hostctl in the network of the clusters.
	InNetwork InNetwork
}

var _ provider.Provider = (*Clusters)(nil)

// workers is the number of worker nodes of a cluster. Each cluster has one control-plane node besides.
var workers = map[string]int{provider.Host: 0, "member-1": 0, "member-2": 2, "member-3": 0}

// OtherMember is the member whose node has Options.OtherNodeImage.
const OtherMember = "member-3"

// nodeImage returns the image of the nodes of a cluster.
func (o Options) nodeImage(name string) string {
	if name == OtherMember && o.OtherNodeImage != "" {
		return o.OtherNodeImage
	}
	return o.NodeImage
}

func names() []string { return []string{provider.Host, "member-1", "member-2", "member-3"} }

// Up makes the clusters, installs Fairlead on the host and joins the members. If that fails after it has begun, it returns the clusters beside
// the error: they stay, and Export saves their logs.
func Up(ctx context.Context, o Options, p *progress.Printer) (*Clusters, error) {
	c, existing, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	return c, c.start(ctx, existing, p)
}

// Check returns an error that names what is missing if Up would refuse to begin.
func Check(ctx context.Context, o Options) error {
	_, _, err := prepare(ctx, o)
	return err
}

// prepare checks that the clusters can be made, and returns the names of those that exist. It pulls node images that the engine lacks, and
// changes nothing else.
func prepare(ctx context.Context, o Options) (c *Clusters, existing []string, err error) {
	c = &Clusters{options: o, layout: layout{o.Name, o.Dir}, kind: cluster.NewProvider(cluster.ProviderWithDocker())}
	nodes := 0
	for _, more := range workers {
		nodes += 1 + more
	}
	images := []string{o.NodeImage}
	if o.OtherNodeImage != "" {
		images = append(images, o.OtherNodeImage)
	}
	if err := preflight(ctx, images, nodes, inotifyFolder); err != nil {
		return nil, nil, err
	}
	if c.kubectl, err = findKubectl(); err != nil {
		return nil, nil, err
	}
	if existing, err = c.kind.List(); err != nil {
		return nil, nil, fmt.Errorf("listing the clusters of kind: %w", err)
	}
	if existing, err = c.layout.existing(existing, o.Keep); err != nil {
		return nil, nil, err
	}
	return c, existing, nil
}

// start makes the clusters that do not exist yet, and brings all to the state that the options describe.
func (c *Clusters) start(ctx context.Context, existing []string, p *progress.Printer) error {
	o := c.options
	if err := create(c.kind, c.layout, o, existing, p); err != nil {
		return err
	}
	pod, err := podArchive(ctx, o)
	if err != nil {
		return err
	}
	if err := loadImages(c.kind, c.layout, "the images of manager, collector and test pods", append(o.Fairlead.archives(), pod), p); err != nil {
		return err
	}
	if err := loadOLM(ctx, c.kind, c.layout, o, p); err != nil {
		return err
	}
	if c.InNetwork, err = prepareInNetwork(ctx, c.kind, c.layout, o.Fairlead.archiveOf("hostctl")); err != nil {
		return err
	}
	return c.federate(ctx, p)
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
func (c *Clusters) Kubeconfig(name string) (string, error) { return c.layout.kubeconfig(name), nil }

// RESTConfig implements provider.Provider.
func (c *Clusters) RESTConfig(name string) (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", c.layout.kubeconfig(name))
}

// Environment implements provider.Provider.
func (c *Clusters) Environment() []string {
	return []string{
		"KUBECACHEDIR=" + filepath.Join(c.layout.dir, "kubectl-cache"),
		"PATH=" + filepath.Dir(c.kubectl) + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
}

// Down implements provider.Provider.
func (c *Clusters) Down(context.Context) error {
	var errs []error
	for _, name := range names() {
		errs = append(errs, c.kind.Delete(c.layout.kindName(name), c.layout.kindKubeconfig(name)))
	}
	return errors.Join(append(errs, os.RemoveAll(c.layout.dir))...)
}
