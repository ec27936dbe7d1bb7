// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// answersWithin bounds the time in which an API server answers after its node has started.
const answersWithin = 3 * time.Minute

// Stop implements provider.Provider: it stops the containers of a cluster.
func (c *Clusters) Stop(ctx context.Context, name string) error { return c.nodes(ctx, name, "stop") }

// Start implements provider.Provider.
func (c *Clusters) Start(ctx context.Context, name string) error {
	if err := c.nodes(ctx, name, "start"); err != nil {
		return err
	}
	return c.awaitAnswer(ctx, name)
}

// Pause freezes all processes of a cluster. Connections to it stay open, but no data arrives, as after a network failure.
func (c *Clusters) Pause(ctx context.Context, name string) error { return c.nodes(ctx, name, "pause") }

// Unpause ends a Pause, and waits until the API server answers.
func (c *Clusters) Unpause(ctx context.Context, name string) error {
	if err := c.nodes(ctx, name, "unpause"); err != nil {
		return err
	}
	return c.awaitAnswer(ctx, name)
}

// nodes runs one docker command on all containers of a cluster, for example stop.
func (c *Clusters) nodes(ctx context.Context, name, verb string) error {
	nodes, err := c.kind.ListNodes(c.kindName(name))
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

func (c *Clusters) awaitAnswer(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	config, err := c.RESTConfig(name)
	if err != nil {
		return err
	}
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

// ManagerLog implements provider.Provider. It returns the logs of all replicas, and for each container that was restarted also the log
// from before the restart.
func (c *Clusters) ManagerLog(ctx context.Context) []byte {
	path, _ := c.Kubeconfig(provider.Host)
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
	for _, name := range names() {
		if err := c.kind.CollectLogs(c.kindName(name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("exporting the logs of %s: %w", name, err)
		}
	}
	return nil
}
