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
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/drift"
	"github.com/fairlead-dev/fairlead/internal/collect/explain"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// Options are the settings of a Collector.
type Options struct {
	// ClusterName is the name under which the member joined. The Collector refuses a member whose Membership has
	// another name. If ClusterName is "", the Collector accepts every name.
	ClusterName string
	// Config has the address and credentials of the member.
	Config *rest.Config
	// HTTPClient sends the requests, so that the Collector can share the manager's connection. If it is nil, the
	// Collector makes a client from Config.
	HTTPClient *http.Client
	// Mapper finds the API version in which to read a resource. If it is nil, the Collector reads the version from the
	// member's discovery.
	Mapper meta.RESTMapper
	// Version is the version of the program. The Collector writes it to the Membership.
	Version string
	// MaxInflight is the highest number of concurrent passes (inflight.Limit); 0 means inflight.Most.
	MaxInflight int
	// Clock is the clock of the Collector; nil means the real clock.
	Clock clock.WithTicker
}

// index has the Deliveries of the member, and for each what the collector remembers between its passes.
type index = deliveryindex.Index[*memory]

// Collector observes one member.
type Collector struct {
	clusterName string
	clock       clock.WithTicker
	limit       *inflight.Limit

	watchSet   *boundedwatch.Set
	watches    *watches
	deliveries *deliveries
	objects    *objects
	served     *servedKinds
	observer   *observer
	heartbeat  *heartbeat
}

// New makes a Collector. It sends no request to the member; Run sends the first.
func New(o Options) (*Collector, error) {
	if o.Config == nil {
		return nil, errors.New("making a collector: Options.Config is not set")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	limit := inflight.New(o.Clock, o.MaxInflight)
	client, err := memberclient.New(o.Config, o.HTTPClient, o.Mapper, o.Clock, limit)
	if err != nil {
		return nil, fmt.Errorf("making the collector of member %s: %w", o.ClusterName, err)
	}
	c := &Collector{clusterName: o.ClusterName, clock: o.Clock, limit: limit, watchSet: boundedwatch.NewSet(o.Clock)}
	known, cache := deliveryindex.New(newMemory), objectcache.New()
	looks := &lookQueue{queue: newQueue(o.Clock, 500*time.Millisecond), index: known}
	watchesChanged := make(chan struct{}, 1)

	facts := newFacts(client, looks)
	related := newRelated(client, facts, looks)
	reader := explain.New(client)
	c.served = newServedKinds(client, facts, cache, looks, newQueue(o.Clock, 200*time.Millisecond))
	c.deliveries = &deliveries{
		client: client, clock: o.Clock, looks: looks, served: c.served, watchesChanged: watchesChanged, readmitted: make(chan struct{}, 1),
	}
	c.objects = &objects{client: client, cache: cache, looks: looks, watchesChanged: watchesChanged, groups: c.served.groups}
	c.watches = &watches{deliveries: c.deliveries, objects: c.objects, served: c.served, facts: facts, related: related, index: known}
	c.observer = &observer{
		clock: o.Clock, looks: looks, cache: cache, served: c.served,
		drift:     drift.NewFinder(client, cache),
		health:    &healthReader{client: client, clock: o.Clock, related: related, explain: reader},
		answerer:  &answerer{client: client, clock: o.Clock, cache: cache, related: related, explain: reader},
		publisher: &publisher{client: client, clock: o.Clock, deliveries: c.deliveries},
		now:       client.Now,
	}
	c.heartbeat = &heartbeat{clusterName: o.ClusterName, version: o.Version, client: client, clock: o.Clock, facts: facts}
	return c, nil
}

// Run observes the member until ctx ends. During an outage of the member it keeps trying. It returns an error only if
// the Membership has another name than ClusterName. Run may be called once.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.clusterName != "" {
		ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("member", c.clusterName))
	}
	var running sync.WaitGroup
	running.Go(func() {
		c.watchSet.Run(ctx, c.watches.wanted, c.deliveries.watchesChanged, c.deliveries.readmitted)
	})
	running.Go(func() {
		if err := c.heartbeat.run(ctx); err != nil {
			cancel(err)
		}
	})
	running.Go(func() { drain(ctx, c.deliveries.looks, c.limit, c.observer.look) })
	running.Go(func() { drain(ctx, c.served.groups, inflight.New(c.clock, 1), c.served.askGroup) })

	<-ctx.Done()
	c.deliveries.looks.ShutDown()
	c.served.groups.ShutDown()
	running.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrOtherMember) {
		return err
	}
	return nil
}
