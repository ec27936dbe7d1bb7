// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// pprofAddress is the address at which the manager serves profiles, if the bench asks for that.
const pprofAddress = "127.0.0.1:6069"

// profileSeconds is the length of a CPU profile. On two cores W1 and W3 take about as long.
const profileSeconds = 110

// profile starts CPU profiles of the manager, and of the API servers of the host and of the first member. Without PROFILE=1 it does
// nothing. The returned function stop waits until the profiles end, and then saves a heap profile of the manager. A peer's manager serves
// no profiles.
func (b *bed) profile(ctx context.Context, name string) (stop func() error, err error) {
	if b.profiles == "" {
		return func() error { return nil }, nil
	}
	_, ownManager := b.measured.(fairlead)
	cpu, g := fmt.Sprintf("profile?seconds=%d", profileSeconds), new(errgroup.Group)
	if ownManager {
		g.Go(func() error { return fetchFromManager(ctx, cpu, filepath.Join(b.profiles, name+".cpu.pprof")) })
	}
	for _, c := range []*cluster{b.host, b.members[0]} {
		g.Go(func() error {
			return fetchFromAPIServer(ctx, b.box, c.name, cpu, filepath.Join(b.profiles, name+"."+c.name+".cpu.pprof"))
		})
	}
	return func() error {
		b.step.Update("waiting for the CPU profiles to end")
		err := g.Wait()
		if ownManager {
			err = errors.Join(err, fetchFromManager(ctx, "heap", filepath.Join(b.profiles, name+".heap.pprof")))
		}
		return err
	}, nil
}

// fetchFromManager saves a profile of the manager.
func fetchFromManager(ctx context.Context, what, file string) error {
	return fetch(ctx, http.DefaultClient, "http://"+pprofAddress+"/debug/pprof/"+what, file)
}

// fetchFromAPIServer saves a profile of an API server. API servers serve profiles to administrators.
func fetchFromAPIServer(ctx context.Context, box *sandbox.Sandbox, cluster, what, file string) error {
	config, err := box.RESTConfig(cluster)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	return fetch(ctx, client, config.Host+"/debug/pprof/"+what, file)
}

// fetch saves the profile at a URL into a file.
func fetch(ctx context.Context, from *http.Client, url, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := from.Do(req)
	if err != nil {
		return fmt.Errorf("taking a profile: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // the body is not used any more
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("taking a profile: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("taking a profile: GET %s: %s: %s", url, answer.Status, data)
	}
	return os.WriteFile(file, data, 0o600)
}
