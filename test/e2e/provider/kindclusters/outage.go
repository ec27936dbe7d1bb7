// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/kind/pkg/cluster"

	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// answersWithin bounds the time in which an API server answers after its node has started.
const answersWithin = 3 * time.Minute

// Stop implements provider.Provider: it stops the containers of a cluster.
func (c *Clusters) Stop(ctx context.Context, name string) error {
	return onNodes(ctx, c.kind, c.layout, name, "stop")
}

// Start implements provider.Provider.
func (c *Clusters) Start(ctx context.Context, name string) error {
	return c.resume(ctx, name, "start")
}

// Pause freezes all processes of a cluster. Connections to it stay open, but no data arrives, as after a network failure.
func (c *Clusters) Pause(ctx context.Context, name string) error {
	return onNodes(ctx, c.kind, c.layout, name, "pause")
}

// Unpause ends a Pause, and waits until the API server answers.
func (c *Clusters) Unpause(ctx context.Context, name string) error {
	return c.resume(ctx, name, "unpause")
}

// resume runs a docker command after which the cluster goes on, and waits until its API server answers.
func (c *Clusters) resume(ctx context.Context, name, verb string) error {
	if err := onNodes(ctx, c.kind, c.layout, name, verb); err != nil {
		return err
	}
	config, err := c.RESTConfig(name)
	if err != nil {
		return err
	}
	return awaitAnswer(ctx, name, config)
}

// onNodes runs one docker command on all containers of a cluster, for example stop.
func onNodes(ctx context.Context, kind *cluster.Provider, l layout, name, verb string) error {
	nodes, err := kind.ListNodes(l.kindName(name))
	if err != nil {
		return fmt.Errorf("listing the nodes of %s: %w", name, err)
	}
	args := []string{verb}
	for _, node := range nodes {
		args = append(args, node.String())
	}
	_, err = docker(ctx, nil, args...)
	return err
}

// awaitAnswer waits until the API server of a cluster answers. config has an administrator's rights for the cluster.
func awaitAnswer(ctx context.Context, name string, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for {
		last := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server of %s does not answer within %s: %w", name, answersWithin, last)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// KillContainer kills the first process of a pod's container with SIGKILL. node is the name of the node, and id the container's ID in the
// status of the pod, for example containerd://0123.
func KillContainer(ctx context.Context, node, id string) error {
	_, id, _ = strings.Cut(id, "://")
	const kill = `kill -KILL "$(crictl inspect --output go-template --template '{{.info.pid}}' "$0")"`
	_, err := docker(ctx, nil, "exec", node, "sh", "-c", kill, id)
	return err
}

// ManagerLog implements provider.Provider. It returns the logs of all replicas, and for each container that was restarted also the log
// from before the restart.
func (c *Clusters) ManagerLog(ctx context.Context) []byte {
	path := c.layout.kubeconfig(provider.Host)
	var all []byte
	for _, previous := range []string{"--previous=true", "--previous=false"} {
		said, err := runProgram(ctx, nil, nil, c.kubectl, "--kubeconfig", path, "logs", "--namespace=fairlead-system",
			"--selector=app.kubernetes.io/component=manager", "--prefix", "--tail=-1", "--ignore-errors", previous)
		if err != nil {
			said += err.Error()
		}
		all = append(append(all, said...), '\n')
	}
	return all
}

// Export implements provider.Provider. It writes the same files as `kind export logs` does for each cluster.
func (c *Clusters) Export(_ context.Context, dir string) error {
	var errs []error
	for _, name := range names() {
		if err := c.kind.CollectLogs(c.layout.kindName(name), filepath.Join(dir, name)); err != nil {
			errs = append(errs, fmt.Errorf("exporting the logs of %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
