// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// Options are what a Collector needs to know.
type Options struct {
	// ClusterName is the name that the member joined under. Where it is given, a member whose
	// Membership says another name is refused.
	ClusterName string
	// Config leads to the member.
	Config *rest.Config
	// HTTPClient is used instead of one made from Config, so that the manager's connection is shared.
	HTTPClient *http.Client
	// Mapper answers which version a resource is read in. Without it the member is asked.
	Mapper meta.RESTMapper
	// Version is the program's, for the Membership.
	Version string
	// MaxInflight is how many Deliveries are looked at at once, at most, see inflight.Limit; 0 is inflight.Most.
	MaxInflight int
	// Clock is the time; the real one by default.
	Clock clock.WithTicker
}

// Collector observes one member.
type Collector struct {
	clusterName string
	version     string
	clients     clients
	limit       *inflight.Limit
	mapper      meta.RESTMapper
	clock       clock.WithTicker
	refusals    wait.Backoff

	// deliveries are the names of Deliveries to look at, groups the API groups to ask for kinds.
	deliveries workqueue.TypedRateLimitingInterface[string]
	groups     workqueue.TypedRateLimitingInterface[string]
	// feedsChanged and factsChanged wake whoever keeps the feeds and the Membership.
	feedsChanged chan struct{}
	factsChanged chan struct{}
	// readmitted tells that the member answers again, after it refused or did not answer.
	readmitted chan struct{}

	// budget is the memory for everything that is held of the member.
	budget *boundedread.Budget

	mu    sync.Mutex
	book  book
	kinds map[schema.GroupResource]*kind
	// served are the kinds that a Delivery waits for and that were seen served.
	served map[schema.GroupKind]bool
	facts  facts
	olm    map[string]*around // by namespace
}

// New makes a Collector. It does not talk to the member yet.
func New(o Options) (*Collector, error) {
	if o.Config == nil {
		return nil, errors.New("making a collector: no config to reach the member with")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	limit := inflight.New(o.Clock, o.MaxInflight)
	clients, err := newClients(o.Config, o.HTTPClient, o.Clock, limit)
	if err != nil {
		return nil, fmt.Errorf("making the collector of member %s: %w", o.ClusterName, err)
	}
	return &Collector{
		clusterName:  o.ClusterName,
		version:      o.Version,
		clients:      clients,
		limit:        limit,
		mapper:       o.Mapper,
		clock:        o.Clock,
		refusals:     refusals(),
		deliveries:   newQueue(o.Clock, 500*time.Millisecond),
		groups:       newQueue(o.Clock, 200*time.Millisecond),
		feedsChanged: make(chan struct{}, 1),
		factsChanged: make(chan struct{}, 1),
		readmitted:   make(chan struct{}, 1),
		budget:       boundedread.NewBudget(boundedread.MaxCached),
		book:         newBook(),
		kinds:        map[schema.GroupResource]*kind{},
		served:       map[schema.GroupKind]bool{},
		facts:        newFacts(),
		olm:          map[string]*around{},
	}, nil
}

func newQueue(c clock.WithTicker, retry time.Duration) workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](retry, 30*time.Second),
		workqueue.TypedRateLimitingQueueConfig[string]{Clock: c})
}

// Run observes until ctx ends, through outages of the member. It returns an error only when the member
// turns out to be another one than ClusterName. A Collector runs once.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.clusterName != "" {
		ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("member", c.clusterName))
	}
	var running sync.WaitGroup
	running.Go(func() { c.keepFeeds(ctx) })
	running.Go(func() {
		if err := c.keepMembership(ctx); err != nil {
			cancel(err)
		}
	})
	running.Go(func() { c.drain(ctx, c.deliveries, c.limit, c.look) })
	running.Go(func() { c.drain(ctx, c.groups, inflight.New(c.clock, 1), c.askGroup) })

	<-ctx.Done()
	c.deliveries.ShutDown()
	c.groups.ShutDown()
	running.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrOtherMember) {
		return err
	}
	return nil
}

// drain does what is in a queue, as much of it at once as limit lets, until the queue is shut.
func (c *Collector) drain(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string],
	limit *inflight.Limit, do func(context.Context, string) error,
) {
	inflight.Serve(ctx, queue, limit, func(item string) {
		err := do(ctx, item)
		switch {
		case err == nil:
			queue.Forget(item)
		case ctx.Err() != nil:
		default:
			klog.FromContext(ctx).V(1).Info("Trying again", "item", item, "reason", err.Error())
			queue.AddRateLimited(item)
		}
	})
}

// wake leaves a sign for whoever waits on a channel of one.
func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
