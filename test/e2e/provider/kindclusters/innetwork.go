// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/kind/pkg/cluster"

	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// kindNetwork is the network of Docker to which kind connects its nodes.
const kindNetwork = "kind"

// InNetwork runs hostctl in a container in the network of the clusters. There it can reach the members at the addresses in their
// MemberClusters: these are names of containers, and they do not resolve outside the network.
type InNetwork struct {
	layout     layout
	image      string // the name of hostctl's image
	kubeconfig string // the path of a kubeconfig for the host that works in the network
}

// prepareInNetwork loads hostctl's image from an archive into the engine, and writes the kubeconfig.
func prepareInNetwork(ctx context.Context, kind *cluster.Provider, l layout, archive string) (InNetwork, error) {
	in := InNetwork{layout: l, kubeconfig: l.internalKubeconfig()}
	var err error
	if in.image, err = imageOf(archive); err != nil {
		return in, fmt.Errorf("reading the name of hostctl's image: %w; hack/e2e.sh builds the images", err)
	}
	if _, err := docker(ctx, nil, "load", "--quiet", "--input", archive); err != nil {
		return in, fmt.Errorf("loading hostctl's image into the engine: %w", err)
	}
	content, err := kind.KubeConfig(l.kindName(provider.Host), true)
	if err != nil {
		return in, fmt.Errorf("reading the kubeconfig of %s for use in the network: %w", provider.Host, err)
	}
	return in, os.WriteFile(in.kubeconfig, []byte(content), 0o600)
}

// Hostctl returns the arguments with which docker runs a command of hostctl. The container runs as the user who may read the
// kubeconfig.
func (in InNetwork) Hostctl(args ...string) []string {
	return append([]string{
		"run", "--rm", "--network", kindNetwork, "--read-only", "--cap-drop", "ALL", "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
		"--volume", in.kubeconfig + ":/kubeconfig:ro", "--env", "KUBECONFIG=/kubeconfig", in.image,
	}, args...)
}

// Address returns the URL of a cluster's API server. Pods of every cluster reach the API server there.
func (in InNetwork) Address(name string) string { return in.layout.address(name) }
