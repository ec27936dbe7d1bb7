// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// bed is the sandbox on which the works run, with the federation that they measure. Each work is a function
// that gets a *bed.
type bed struct {
	options
	measured federation
	box      *sandbox.Sandbox
	print    *progress.Printer
	step     *progress.Step
	host     *cluster
	members  []*cluster
	// delivered are the wrappers that W1 has created. Later works use them.
	delivered []client.Object
	// painted counts how often a work has changed all delivered wrappers. A work writes this number into the key colour of their
	// ConfigMaps, so that each change is a new value.
	painted int
}

// cluster is one cluster of the bed, with a client that has an administrator's rights.
type cluster struct {
	client.Client
	name, auditLog string
	metadata       metadata.Interface
	discovery      discovery.DiscoveryInterface
}

const firstMembers = 3

// makeBed deletes the sandbox of this name, if there is one, and starts a new one with the federation.
func makeBed(ctx context.Context, o options, f federation, p *progress.Printer) (*bed, error) {
	gone := &sandbox.NotFoundError{}
	if _, err := sandbox.Down(ctx, o.name); err != nil && !errors.As(err, &gone) {
		return nil, err
	}
	b := &bed{options: o, measured: f, print: p}
	return b, b.up(ctx, firstMembers)
}

// up starts the sandbox with this number of members, or adds members to a running sandbox.
func (b *bed) up(ctx context.Context, members int) error {
	o := sandbox.Options{Name: b.name, Members: members, Audit: true, Fsync: true, MoreMemory: true, Programs: b.programs}
	b.measured.options(&o)
	if b.profiles != "" || b.wants(restWork) {
		o.ManagerArgs = []string{"--pprof-address=" + pprofAddress}
	}
	if b.profiles != "" {
		o.APIServerArgs = []string{"--profiling=true"}
	}
	box, err := sandbox.Up(ctx, o, b.print)
	if err != nil {
		return err
	}
	b.box = box
	if b.host, err = connect(box, sandbox.HostName); err != nil {
		return err
	}
	b.members = nil
	for _, name := range box.Members() {
		m, err := connect(box, name)
		if err != nil {
			return err
		}
		b.members = append(b.members, m)
	}
	return b.measured.install(ctx, b)
}

// connect returns a cluster of a sandbox.
func connect(box *sandbox.Sandbox, name string) (*cluster, error) {
	spec, err := box.Cluster(name)
	if err != nil {
		return nil, err
	}
	config, err := box.RESTConfig(name)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no client-side rate limit: it would slow the works down
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c := &cluster{name: name, auditLog: spec.AuditLog()}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfig(config)
	return c, err
}

// clusters returns all clusters of the bed.
func (b *bed) clusters() []*cluster { return append([]*cluster{b.host}, b.members...) }

// The method until waits until a condition holds. The function missing returns a text about the part that is missing; "" once the
// condition holds. The progress line shows that text. After the time in the argument within, until returns an error.
func (b *bed) until(ctx context.Context, within time.Duration, missing func(context.Context) (string, error)) error {
	return b.untilEach(ctx, 100*time.Millisecond, within, missing)
}

// untilEach does the same as the method until. The argument every is the interval between two calls of missing.
func (b *bed) untilEach(
	ctx context.Context, every, within time.Duration, missing func(context.Context) (string, error),
) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		what, err := missing(ctx)
		if err == nil && what == "" {
			return nil
		}
		b.step.Update("%s", what)
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %s: %w", within, what, errors.Join(err, context.Cause(ctx)))
		case <-tick.C:
		}
	}
}
