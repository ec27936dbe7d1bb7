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

// Collectors runs, inside the manager, the collectors of members with collector: Host. It also does the host's work for
// collectors elsewhere. It is multicluster-aware: a task lives as long as the connection to its member. A task that
// ends before that is started again (see keepRunning).
type Collectors struct {
	clock clock.WithTicker
	// onEnd is called when a member's collector has ended.
	onEnd func(name string)
	// inspections are what the tasks found out about the members.
	inspections *inspections
	// begin makes the function that runs a task.
	begin func(t task, name string, conn *member.Conn) (func(context.Context) error, error)

	mu      sync.Mutex
	engaged map[string]engagement
	tasks   map[string]task
	running map[string]*work
	// last is the task that was started last for a member. It stays here until it has ended for good, even if it was
	// stopped.
	last map[string]*work
}

// task is the work of the host for a member and its collector. The zero value is nothing.
type task struct {
	// inspect: the host reads from time to time whether the member's CRDs have the fields of the host's.
	inspect bool
	// deployed: the host also reads whether the Deployment of a collector on the member runs.
	deployed bool
	// observe: the collector runs here.
	observe bool
	// letRead: the manager keeps the read rights of the collector's account in line with the kinds that the member serves.
	letRead bool
}

var nothing task

// taskFor returns the task of the host for a member. The host writes no status and extends no role on a cluster unless it
// knows that this is the joined cluster.
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
	// ended describes its last end by itself. Collectors.mu guards it.
	ended *ending
}

type engagement struct {
	ctx  context.Context //nolint:containedctx // multicluster-runtime's context of this engagement
	conn *member.Conn
}

var _ multicluster.Aware = &Collectors{}

// NewCollectors makes the Collectors of a manager. The collectors write version into the Membership. Each works on at
// most maxInflight Deliveries at once. NewCollectors calls news with the name of a member whose collector has ended, or
// about which an inspection found something new; news must not block.
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

// all runs several functions until the first of them ends, then ends the others.
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
	// The task was decided for the old connection. A probe of the new one has to find the joined cluster first.
	delete(c.tasks, conn.Name())
	return nil
}

// Set passes on where the member's collector runs, and the result of the last probe.
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
		// A task that was stopped before it began waits as well: the task after it must not overtake the task before
		// it.
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
