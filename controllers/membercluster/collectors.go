// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Collectors runs, inside the manager, the collectors of members that the host collects for, and what
// collectors elsewhere need of the host. It is multicluster-aware: either lives as long as the
// connection to its member.
type Collectors struct {
	version string
	clock   clock.WithTicker

	mu      sync.Mutex
	engaged map[string]engagement
	tasks   map[string]task
	running map[string]work
}

// task is what the host does for a member's collector.
type task string

const (
	nothing task = ""
	// observe: the collector runs here.
	observe task = "observe"
	// letRead: it runs elsewhere, with an account of its own whose reads have to follow what the member serves.
	letRead task = "let read"
)

func taskFor(mode v1alpha1.CollectorMode, grants []string) task {
	switch {
	case mode == v1alpha1.CollectorHost:
		return observe
	case mode == v1alpha1.CollectorExternal && join.GrantsEveryGroup(grants):
		return letRead
	}
	return nothing
}

// work is a task under way.
type work struct {
	task task
	stop context.CancelFunc
}

type engagement struct {
	ctx  context.Context //nolint:containedctx // the engagement's own life, as multicluster-runtime gives it
	conn *member.Conn
}

var _ multicluster.Aware = &Collectors{}

// NewCollectors makes it; version is what the collectors say in the Membership.
func NewCollectors(version string, clk clock.WithTicker) *Collectors {
	return &Collectors{
		version: version,
		clock:   clk,
		engaged: make(map[string]engagement),
		tasks:   make(map[string]task),
		running: make(map[string]work),
	}
}

// Start implements manager.Runnable; collectors run by themselves.
func (c *Collectors) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage implements multicluster.Aware.
func (c *Collectors) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	conn, ok := cl.(*member.Conn)
	if !ok {
		return fmt.Errorf("engaging %s: %T is not a member's connection", name, cl)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop(conn.Name())
	c.engaged[conn.Name()] = engagement{ctx: ctx, conn: conn}
	c.settle(conn.Name())
	return nil
}

// Set says who collects for a member, and what the member grants the host.
func (c *Collectors) Set(name string, mode v1alpha1.CollectorMode, grants []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks[name] = taskFor(mode, grants)
	c.settle(name)
}

// Forget ends what is done for a member.
func (c *Collectors) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tasks, name)
	delete(c.engaged, name)
	c.settle(name)
}

// settle starts or stops what is done for a member's collector. c.mu is held.
func (c *Collectors) settle(name string) {
	wanted := nothing
	with, engaged := c.engaged[name]
	if engaged && with.ctx.Err() == nil {
		wanted = c.tasks[name]
	}
	if c.running[name].task == wanted {
		return
	}
	c.stop(name)
	if wanted == nothing {
		return
	}
	ctx, cancel := context.WithCancel(with.ctx)
	logger := log.FromContext(ctx).WithName("collect").WithValues("member", name)
	run, err := c.begin(wanted, name, with.conn)
	if err != nil {
		logger.Error(err, "the collector cannot be made")
		cancel()
		return
	}
	c.running[name] = work{task: wanted, stop: cancel}
	go func() {
		if err := run(log.IntoContext(ctx, logger)); err != nil && ctx.Err() == nil {
			logger.Error(err, "the collector has ended")
		}
	}()
}

// begin makes what the host does for a member's collector.
func (c *Collectors) begin(t task, name string, conn *member.Conn) (func(context.Context) error, error) {
	if t == letRead {
		return func(ctx context.Context) error { return widen(ctx, conn) }, nil
	}
	collector, err := collect.New(collect.Options{
		ClusterName: name, Config: conn.GetConfig(), HTTPClient: conn.GetHTTPClient(),
		Mapper: conn.GetRESTMapper(), Version: c.version, Clock: c.clock,
	})
	if err != nil {
		return nil, err
	}
	return collector.Run, nil
}

func (c *Collectors) stop(name string) {
	if at, ok := c.running[name]; ok {
		at.stop()
		delete(c.running, name)
	}
}
