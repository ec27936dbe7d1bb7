// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"errors"
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

// Collectors runs the tasks of all members inside the manager. Among them are the collectors of members with collector:
// Host. It is multicluster-aware: a task lives as long as the connection to its member. The manager restarts a task
// that ends before that (see keepRunning).
type Collectors struct {
	clock clock.WithTicker
	// onEnd is called when a member's task has ended by itself.
	onEnd func(name string)
	// inspections holds what the tasks have read about Fairlead's parts on the members.
	inspections *inspections
	// begin makes the function that runs a task.
	begin func(t task, name string, conn *member.Conn) (func(context.Context) error, error)

	mu      sync.Mutex
	engaged map[string]engagement
	tasks   map[string]task
	running map[string]*work
	// last is the task that was started last for a member. It stays here until it has ended for good, even after it was
	// stopped.
	last map[string]*work
}

// task is the manager's work for a member and its collector. The zero value is no work.
type task struct {
	// inspect means that the host reads from time to time whether the member's CRDs have the fields of the host's CRDs.
	inspect bool
	// deployed means that the host also reads whether the Deployment of a collector on the member runs.
	deployed bool
	// observe means that the collector runs here.
	observe bool
	// letRead means that the manager keeps the read permissions of the collector's account in line with the kinds that
	// the member serves.
	letRead bool
}

var nothing task

// taskFor returns the task for a member. There is none unless the manager knows that the cluster is the joined one: it
// writes no status and extends no role on another cluster.
func taskFor(mode v1alpha1.CollectorMode, is member.ProbeResult) task {
	if !is.Ours {
		return nothing
	}
	return task{inspect: true, deployed: mode == v1alpha1.CollectorMember, observe: mode == v1alpha1.CollectorHost, letRead: join.GrantsEveryGroup(is.Grants)}
}

// work is a task that was started.
type work struct {
	task task
	stop context.CancelFunc
	// through is closed when the task has ended for good.
	through chan struct{}
	// ended describes the last time that the task ended by itself. Collectors.mu guards it.
	ended *ending
}

type engagement struct {
	ctx  context.Context //nolint:containedctx // multicluster-runtime's context of this engagement
	conn *member.Conn
}

var _ multicluster.Aware = &Collectors{}

// NewCollectors makes the Collectors of a manager. The collectors write version into the Membership. Each works on at
// most maxInflight Deliveries at the same time. news gets the name of a member whose task has ended, or about which an
// inspection found something new. news must not block.
func NewCollectors(version string, maxInflight int, clk clock.WithTicker, news func(name string)) *Collectors {
	c := &Collectors{
		clock:       clk,
		engaged:     make(map[string]engagement),
		tasks:       make(map[string]task),
		running:     make(map[string]*work),
		last:        make(map[string]*work),
		onEnd:       news,
		inspections: newInspections(news),
	}
	c.begin = func(t task, name string, conn *member.Conn) (func(context.Context) error, error) {
		var runs []func(context.Context) error
		if t.inspect {
			runs = append(runs, func(ctx context.Context) error { return c.inspections.keep(ctx, conn, t.deployed, clk) })
		}
		if t.letRead {
			runs = append(runs, func(ctx context.Context) error { return keepReadable(ctx, conn, compareEvery) })
		}
		if t.observe {
			collector, err := collect.New(collect.Options{
				ClusterName: name, Config: conn.GetConfig(), HTTPClient: conn.CollectorHTTPClient(),
				Mapper: conn.GetRESTMapper(), Version: version, MaxInflight: maxInflight, Clock: clk,
			})
			if err != nil {
				return nil, fmt.Errorf("making the collector of member %s: %w", name, err)
			}
			runs = append(runs, collector.Run)
		}
		return all(runs...), nil
	}
	return c
}

// all runs several functions concurrently. When the first of them ends, it ends the others.
func all(runs ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error, len(runs))
		for _, run := range runs {
			go func() { defer cancel(); ended <- run(ctx) }()
		}
		var errs []error
		for range runs {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}
}

// Start implements manager.Runnable. Set starts the tasks, so Start only waits for the end of ctx.
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
	// The task was decided for the old connection. First a probe of the new connection has to find the joined cluster.
	delete(c.tasks, conn.Name())
	return nil
}

// Set decides the task of a member from its collector mode and the result of its last probe, and starts it.
func (c *Collectors) Set(name string, mode v1alpha1.CollectorMode, is member.ProbeResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks[name] = taskFor(mode, is)
	c.reconcileTask(name)
}

// Forget ends the task of a member.
func (c *Collectors) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tasks, name)
	delete(c.engaged, name)
	c.reconcileTask(name)
	c.inspections.forget(name)
}

// reconcileTask starts or stops the task of a member. The caller holds c.mu.
func (c *Collectors) reconcileTask(name string) {
	wanted := nothing
	with, engaged := c.engaged[name]
	if engaged && with.ctx.Err() == nil {
		wanted = c.tasks[name]
	}
	if at := c.running[name]; at != nil && at.task == wanted || at == nil && wanted == nothing {
		return
	}
	c.stop(name)
	if wanted != nothing {
		c.start(name, wanted, with)
	}
}

// start begins a task when the previous task has ended for good. The caller holds c.mu.
//
// Two collectors of one member would do little harm, since a stopped collector begins no further write. But each holds
// the member's objects in memory. The wait is short, because a stopped task ends soon. Engage does not wait.
func (c *Collectors) start(name string, t task, with engagement) {
	ctx, cancel := context.WithCancel(with.ctx)
	before, w := c.last[name], &work{task: t, stop: cancel, through: make(chan struct{})}
	c.running[name], c.last[name] = w, w
	logger := log.FromContext(ctx).WithName("collect").WithValues("member", name)
	go func() {
		// A task that was stopped before it began waits as well. Otherwise the next task could start before the
		// previous one has ended.
		if before != nil {
			<-before.through
		}
		c.keepRunning(log.IntoContext(ctx, logger), name, w, with.conn)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.last[name] == w {
			delete(c.last, name)
		}
		close(w.through)
	}()
}

func (c *Collectors) stop(name string) {
	if at := c.running[name]; at != nil {
		at.stop()
		delete(c.running, name)
	}
}
