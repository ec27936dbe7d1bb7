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
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Collectors runs the tasks of all members inside the manager, among them the collectors of members with
// `collector: Host`. It implements multicluster.Aware: a task ends with the connection to its member. Collectors restarts
// a task that ends sooner (see keepRunning).
type Collectors struct {
	clock clock.WithTicker
	// onEnd gets the name of a member whose task has ended although Collectors had not stopped it.
	onEnd func(name string)
	// inspections has what the tasks have read about Fairlead's CRDs and collectors on the members.
	inspections *inspections
	// begin returns the function that runs a task. Tests replace it.
	begin func(t task, name string, conn *member.Conn) (func(context.Context) error, error)

	mu      sync.Mutex
	engaged map[string]engagement
	tasks   map[string]task
	running map[string]*work
	// last has, by member, the newest task that Collectors has started, even after it stopped that task. An entry is
	// removed when the task has ended.
	last map[string]*work
}

// task tells what the manager does continuously for a member and its collector. The zero value means that it does
// nothing.
type task struct {
	// inspect means that the manager compares, from time to time, the member's CRDs with the host's.
	inspect bool
	// deployed means that the manager also reads the collector's Deployment on the member, with each inspection.
	deployed bool
	// observe means that the collector runs inside the manager.
	observe bool
	// letRead means that the manager extends the collector's role on the member to the kinds that the member serves.
	letRead bool
}

var nothing task

// taskFor returns the task for a member. It returns the zero value if the last probe did not confirm that the cluster
// is the joined one: on another cluster the manager must neither write a status nor extend a role.
func taskFor(mode v1alpha1.CollectorMode, is member.ProbeResult) task {
	if !is.Ours {
		return nothing
	}
	return task{inspect: true, deployed: mode == v1alpha1.CollectorMember, observe: mode == v1alpha1.CollectorHost, letRead: permissions.GrantsEveryGroup(is.Grants)}
}

// work is a task that the manager has started.
type work struct {
	task task
	stop context.CancelFunc
	// through is closed when the task has ended and the manager will not restart it.
	through chan struct{}
	// ended is the last time that the task ended by itself; nil if it never did. Collectors.mu protects this field.
	ended *ending
}

type engagement struct {
	ctx  context.Context //nolint:containedctx // multicluster-runtime ends it with the connection
	conn *member.Conn
}

var _ multicluster.Aware = &Collectors{}

// NewCollectors makes the Collectors of a manager. The collectors write version into the Membership. Each collector
// judges at most maxInflight Deliveries at the same time. The Collectors call the function news with the name of a member
// whose task has ended by itself, or whose inspection has a new result. news must not block.
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

// all returns a function that runs the given functions concurrently. When one of them ends, it stops the others.
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

// Start implements manager.Runnable. It only waits until ctx ends: Set starts the tasks.
func (c *Collectors) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage implements multicluster.Aware. It stores the new connection of a member, and stops the task on the old one.
func (c *Collectors) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	conn, ok := cl.(*member.Conn)
	if !ok {
		return fmt.Errorf("engaging %s: %T is not a member's connection", name, cl)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop(conn.Name())
	c.engaged[conn.Name()] = engagement{ctx: ctx, conn: conn}
	// The manager chose the task for the old connection. The next task starts after a probe of the new connection has
	// confirmed that the cluster is the joined one.
	delete(c.tasks, conn.Name())
	return nil
}

// Set chooses the task of a member by its collector mode and the result of its last probe, and starts, stops or
// replaces the running task accordingly.
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

// start starts a task after the previous task of the member has ended. The caller holds c.mu.
//
// Two collectors of one member would both have the member's objects in memory. So the new goroutine waits until the
// previous task has ended; start itself does not wait. The wait is short, because a stopped task ends soon.
func (c *Collectors) start(name string, t task, with engagement) {
	ctx, cancel := context.WithCancel(with.ctx)
	before, w := c.last[name], &work{task: t, stop: cancel, through: make(chan struct{})}
	c.running[name], c.last[name] = w, w
	logger := log.FromContext(ctx).WithName("collect").WithValues("member", name)
	go func() {
		// A task that was stopped before it began waits here too. The next task waits only for this one, so without
		// this wait it could start before an earlier task has ended.
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
