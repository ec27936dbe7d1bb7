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

// partFloor is the role of the process that does the work "floor". For each wrapper of W1, this process sends as many requests
// of the same size as Fairlead does. It decodes no response, watches nothing and decides nothing. So its CPU time is the least
// that a federation with these writes can need. Compare it with the figures of W1 from the same machine.
const partFloor = "floor"

// errand tells the process of the work "floor" which requests to send. The bench writes it to the process as JSON.
type errand struct {
	// Kubeconfigs are the paths of kubeconfigs: the host's first, and then the members'.
	Kubeconfigs []string `json:"kubeconfigs"`
	// Objects is the number of wrappers. For each one, the process sends requests to every cluster.
	Objects int `json:"objects"`
}

// atOnce is the largest number of requests that the process has in flight to one cluster. They are for different wrappers.
const atOnce = 4

// runErrand is the main function of the process of the work "floor". It reads an errand from standard input and sends the requests.
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

// pair sends the requests for one wrapper to one cluster: three writes, and to a member also a read.
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

// floor runs the work "floor": it starts the process and measures the CPU time of the process.
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
