// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// The floor is the least cost of any federation with as many writes. A process sends as many requests as W1, of the
// same size. It decodes no answer, watches nothing and decides nothing. Compare the figures of W1 with the floor of the
// same machine.

const partFloor = "floor"

// errand describes the requests that the process sends.
type errand struct {
	// Kubeconfigs are those of the host, first, and of the members.
	Kubeconfigs []string `json:"kubeconfigs"`
	Objects     int      `json:"objects"`
}

// atOnce is the number of parallel requests to a cluster.
const atOnce = 4

// runErrand is the main function of the process.
func runErrand() error {
	var e errand
	if err := json.NewDecoder(os.Stdin).Decode(&e); err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(context.Background())
	for i, path := range e.Kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return err
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		all.Go(func() error {
			some, ctx := errgroup.WithContext(ctx)
			some.SetLimit(atOnce)
			for n := range e.Objects {
				some.Go(func() error { return (&caller{client, config.Host}).pair(ctx, n, i > 0) })
			}
			return some.Wait()
		})
	}
	return all.Wait()
}

// caller sends requests to one cluster.
type caller struct {
	client *http.Client
	host   string
}

// pair sends the requests of one wrapper to one cluster: a read and three writes to a member, three writes to the host.
func (c *caller) pair(ctx context.Context, n int, isMember bool) error {
	const path = "/api/v1/namespaces/default/configmaps"
	record, object := fmt.Sprintf("floor-record-%d", n), fmt.Sprintf("floor-object-%d", n)
	errs := []error{
		c.send(ctx, http.MethodPost, path, "application/json", configMap(record, 1)),
		c.send(ctx, http.MethodPatch, path+"/"+object+"?fieldManager=floor&force=true", "application/apply-patch+yaml", configMap(object, 1)),
		c.send(ctx, http.MethodPut, path+"/"+record, "application/json", configMap(record, 2)),
	}
	if isMember {
		errs = append(errs, c.send(ctx, http.MethodGet, path+"/"+record, "", nil))
	}
	return errors.Join(errs...)
}

func configMap(name string, colour int) []byte { return build.Raw(painted(name, colour)).Raw }

func (c *caller) send(ctx context.Context, method, path, form string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, c.host+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form)
	answer, err := c.client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode >= http.StatusMultipleChoices {
		err = errors.Join(err, fmt.Errorf("%s %s: %s", method, path, answer.Status))
	}
	return errors.Join(err, answer.Body.Close())
}

// floor runs that process and measures it.
func floor(ctx context.Context, b *bed) (*reading, error) {
	e := errand{Objects: b.objects}
	for _, name := range append([]string{sandbox.HostName}, b.box.Members()[:firstMembers]...) {
		path, err := b.box.Kubeconfig(name)
		if err != nil {
			return nil, err
		}
		e.Kubeconfigs = append(e.Kubeconfigs, path)
	}
	said, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	process, err := play(ctx, partFloor)
	if err != nil {
		return nil, err
	}
	process.Stdin = bytes.NewReader(said)
	if err := process.Run(); err != nil {
		return nil, fmt.Errorf("sending the requests of %s: %w", deliverWork, err)
	}
	spent := process.ProcessState.UserTime() + process.ProcessState.SystemTime()
	return &reading{More: map[string]float64{"cpuSeconds": round(spent.Seconds())}}, nil
}
