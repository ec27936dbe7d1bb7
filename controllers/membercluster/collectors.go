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
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Collectors runs, inside the manager, the collectors of members that the host collects for. It is
// multicluster-aware: a collector lives as long as the connection that it observes through.
type Collectors struct {
	version string
	clock   clock.WithTicker

	mu      sync.Mutex
	engaged map[string]engagement
	modes   map[string]v1alpha1.CollectorMode
	running map[string]context.CancelFunc
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
		modes:   make(map[string]v1alpha1.CollectorMode),
		running: make(map[string]context.CancelFunc),
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

// Set says who collects for a member; "" when nobody is to any more.
func (c *Collectors) Set(name string, mode v1alpha1.CollectorMode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mode == "" {
		delete(c.modes, name)
		delete(c.engaged, name)
	} else {
		c.modes[name] = mode
	}
	c.settle(name)
}

// settle starts or stops a member's collector. c.mu is held.
func (c *Collectors) settle(name string) {
	with, engaged := c.engaged[name]
	if !engaged || with.ctx.Err() != nil || c.modes[name] != v1alpha1.CollectorHost {
		c.stop(name)
		return
	}
	if c.running[name] != nil {
		return
	}
	ctx, cancel := context.WithCancel(with.ctx)
	logger := log.FromContext(ctx).WithName("collect").WithValues("member", name)
	collector, err := collect.New(collect.Options{
		ClusterName: name, Config: with.conn.GetConfig(), HTTPClient: with.conn.GetHTTPClient(),
		Mapper: with.conn.GetRESTMapper(), Version: c.version, Clock: c.clock,
	})
	if err != nil {
		logger.Error(err, "the collector cannot be made")
		cancel()
		return
	}
	c.running[name] = cancel
	go func() {
		if err := collector.Run(log.IntoContext(ctx, logger)); err != nil && ctx.Err() == nil {
			logger.Error(err, "the collector has ended")
		}
	}()
}

func (c *Collectors) stop(name string) {
	if cancel := c.running[name]; cancel != nil {
		cancel()
		delete(c.running, name)
	}
}
