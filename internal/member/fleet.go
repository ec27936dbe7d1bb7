// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// Fleet holds a connection to every member that has usable credentials. It is multicluster-runtime's provider: it
// engages every multicluster-aware part of the manager with each Conn. It disengages them when the Conn is replaced or
// removed.
//
// Fleet does not use multicluster-runtime's own bookkeeping (pkg/clusters). There, a connection that ends removes the
// entry of its name. By then the entry may hold the connection that replaced it.
type Fleet struct {
	host  Host
	clock clock.WithTicker
	fence WriteFence
	// most is the highest number of concurrent pushes to one member. 0 means inflight.Most.
	most int

	// started is closed when Start has set ctx and aware.
	started chan struct{}
	ctx     context.Context //nolint:containedctx // lives as long as the fleet; Start sets it
	aware   multicluster.Aware

	mu        sync.RWMutex
	members   map[string]*tracked
	listeners []func(name string, was, is ProbeResult)
}

// tracked is one member's connection as the fleet keeps it.
type tracked struct {
	conn           *Conn
	cancel         context.CancelFunc
	probeRequested chan struct{}

	// joined is the uid of the joined cluster. The registry sets it. Until then it is the uid that the first usable
	// probe found. lastProbe is compared with it. The fleet's mu guards both.
	joined    types.UID
	lastProbe ProbeResult

	// telling is held while listeners receive the result of a probe. It guards the field ended. Once ended is true, the
	// listeners receive no further results.
	telling sync.Mutex
	ended   bool
}

var (
	_ multicluster.Provider         = &Fleet{}
	_ multicluster.ProviderRunnable = &Fleet{}
)

// FleetOption sets an option of a Fleet.
type FleetOption func(*Fleet)

// WithWriteFence makes every write to a member wait for this fence, which can refuse the write.
func WithWriteFence(fence WriteFence) FleetOption {
	return func(f *Fleet) { f.fence = fence }
}

// WithMaxInflight bounds the number of concurrent pushes to one member (see inflight.Limit). 0 means inflight.Most.
func WithMaxInflight(n int) FleetOption { return func(f *Fleet) { f.most = n } }

// NewFleet makes the fleet of a host, without members.
func NewFleet(host Host, clk clock.WithTicker, options ...FleetOption) *Fleet {
	f := &Fleet{
		host:    host,
		clock:   clk,
		started: make(chan struct{}),
		members: make(map[string]*tracked),
	}
	for _, option := range options {
		option(f)
	}
	return f
}

// OnProbe registers a function that the prober calls after each probe, in the prober's goroutine. Its arguments are the
// results of the previous probe and of this one. The function must neither block nor connect or disconnect a member. It
// gets the results of one connection to a member at a time: none of an old connection once a new one is engaged. A
// function that is registered late does not get the results of earlier probes.
func (f *Fleet) OnProbe(listener func(name string, was, is ProbeResult)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = append(f.listeners, listener)
}

// Start implements multicluster.ProviderRunnable. Connect waits until Start is called. Start blocks until ctx ends.
func (f *Fleet) Start(ctx context.Context, aware multicluster.Aware) error {
	f.ctx, f.aware = ctx, aware
	close(f.started)
	<-ctx.Done()
	return nil
}

// Connect connects a member, or connects it anew when its configuration has changed. It blocks until the fleet has
// started. joined is the uid of the joined cluster: a cluster with another uid is not usable. "" accepts the first
// cluster that accepts the host's credentials.
//
// Connect does not wait for pushes on the old connection. Their context has ended, so they begin no other write.
// Waiting would not change the outcome of a write that was already sent. A manager that is killed leaves such writes
// too. The Deliveries on the member show what they left.
func (f *Fleet) Connect(ctx context.Context, name string, config *rest.Config, joined types.UID) error {
	select {
	case <-f.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.expect(name, config, joined) {
		return nil
	}
	conn, err := Connect(name, config)
	if err != nil {
		return err
	}
	conn.guard.clock, conn.guard.limit = f.clock, inflight.New(f.clock, f.most)
	conn.guard.fence = f.fence
	f.Disconnect(name)

	life, cancel := context.WithCancel(f.ctx)
	t := &tracked{conn: conn, cancel: cancel, probeRequested: make(chan struct{}, 1), joined: joined}
	f.mu.Lock()
	f.members[name] = t
	f.mu.Unlock()
	if err := f.aware.Engage(life, multicluster.ClusterName(name), conn); err != nil {
		f.Disconnect(name)
		return fmt.Errorf("engaging member %s: %w", name, err)
	}
	go func() { _ = conn.Start(life) }() // Start only waits for the end of life, and then cleans up
	go f.keepProbing(life, t)
	return nil
}

// expect updates an existing connection to a member: the uid of the joined cluster from the registry, and the host's
// present token. It returns false if there is no connection with this configuration. A uid of "" sets nothing: the
// registry learns the uid from the connection.
func (f *Fleet) expect(name string, config *rest.Config, joined types.UID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.members[name]
	if t == nil || !sameConfig(t.conn.config, config) || !t.takes(config.BearerToken) {
		return false
	}
	if joined != "" && joined != t.joined {
		t.joined = joined
		t.lastProbe = t.lastProbe.joinedAs(name, joined)
		t.probeNow() // so that the listeners get the new result
	}
	return true
}

// takes makes the connection use a token from now on, and reports whether it can. It cannot while the member is not
// usable, for example because its API server refuses the present token. Work that began with that token has to begin
// again. The caller holds f.mu.
func (t *tracked) takes(token string) bool {
	if t.conn.Uses(token) {
		return true
	}
	if token == "" || t.conn.Uses("") || !t.lastProbe.Usable() {
		return false
	}
	t.conn.bearer.token.Store(&token)
	t.probeNow()
	return true
}

// Get implements multicluster.Provider.
func (f *Fleet) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	if conn := f.Conn(string(name)); conn != nil {
		return conn, nil
	}
	return nil, fmt.Errorf("looking for member %s: %w", name, multicluster.ErrClusterNotFound)
}

// IndexField implements multicluster.Provider. A connection has no cache that could be indexed.
func (f *Fleet) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return errNoCache
}

// Disconnect ends the connection to a member, and everything that is engaged with it.
func (f *Fleet) Disconnect(name string) {
	f.mu.Lock()
	t := f.members[name]
	delete(f.members, name)
	f.mu.Unlock()
	if t == nil {
		return
	}
	t.cancel()
	t.telling.Lock()
	defer t.telling.Unlock()
	t.ended = true
}

// LastProbe returns the result of the last probe of a member; false when the member is not connected.
func (f *Fleet) LastProbe(name string) (ProbeResult, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.members[name]; t != nil {
		return t.lastProbe, true
	}
	return ProbeResult{}, false
}

// Conn returns the connection to a member, nil when there is none.
func (f *Fleet) Conn(name string) *Conn {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.members[name]; t != nil {
		return t.conn
	}
	return nil
}

// ProbeNow makes the fleet probe a member immediately, and not at the next interval. Call it when a request to the member
// has failed.
func (f *Fleet) ProbeNow(name string) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.members[name]; t != nil {
		t.probeNow()
	}
}

func (t *tracked) probeNow() {
	select {
	case t.probeRequested <- struct{}{}:
	default:
	}
}

// sameConfig compares the fields that ConfigFor sets. It leaves out the token, which takes compares. The URL of the
// proxy can be read only by calling the proxy function.
func sameConfig(a, b *rest.Config) bool {
	return a.Host == b.Host && a.UserAgent == b.UserAgent &&
		reflect.DeepEqual(proxyOf(a), proxyOf(b)) && reflect.DeepEqual(a.TLSClientConfig, b.TLSClientConfig)
}
