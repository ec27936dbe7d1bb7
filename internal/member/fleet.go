// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// Fleet holds a connection to every member that has usable credentials. It is a provider of multicluster-runtime: it
// engages every multicluster-aware part of the manager with each Conn, and disengages it when it replaces or removes the
// Conn.
//
// Fleet does not use the clusters map of multicluster-runtime (pkg/clusters). When a connection ends, that map removes
// the member's entry, even if a new connection has already replaced the old one in that entry.
type Fleet struct {
	host  Host
	clock clock.WithTicker
	fence WriteFence
	// most is the largest number of concurrent pushes to one member. 0 means inflight.Most.
	most int

	// started is closed when Start has set ctx and aware.
	started chan struct{}
	ctx     context.Context //nolint:containedctx // lives as long as the fleet; Start sets it
	aware   multicluster.Aware

	mu        sync.RWMutex
	members   map[string]*tracked
	listeners []func(name string, was, is ProbeResult)
}

// tracked is the fleet's entry for one member: its connection and the result of its last probe.
type tracked struct {
	conn           *Conn
	cancel         context.CancelFunc
	probeRequested chan struct{}

	// joined is the uid of the joined cluster's kube-system namespace. If a probe finds another uid, the result of that
	// probe is not usable. The uid comes from the registry. While the registry has none, joined is the uid that the first
	// usable probe found; "" before that probe. The fleet's mu guards joined and lastProbe.
	joined    types.UID
	lastProbe ProbeResult

	// telling is locked while listeners receive the result of a probe. It also guards ended.
	telling sync.Mutex
	// ended is true after Disconnect. The listeners then get no further results of this connection.
	ended bool
}

var (
	_ multicluster.Provider         = &Fleet{}
	_ multicluster.ProviderRunnable = &Fleet{}
)

// FleetOption sets an option of a Fleet.
type FleetOption func(*Fleet)

// WithWriteFence makes every write to a member wait until the fence lets it begin. The fence can also refuse the write.
func WithWriteFence(fence WriteFence) FleetOption {
	return func(f *Fleet) { f.fence = fence }
}

// WithMaxInflight sets the largest number of concurrent pushes to one member (see inflight.Limit). 0 means
// inflight.Most.
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

// OnProbe registers a function that the prober calls after each later probe, in the prober's goroutine. was and is are
// the results of the previous probe and of this probe. The function must not block, and must not connect or disconnect
// a member. Once the fleet has engaged a new connection to a member, the function gets no result of the old connection.
func (f *Fleet) OnProbe(listener func(name string, was, is ProbeResult)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = append(f.listeners, listener)
}

// Start implements multicluster.ProviderRunnable. It blocks until ctx ends. Connect waits until Start is called.
func (f *Fleet) Start(ctx context.Context, aware multicluster.Aware) error {
	f.ctx, f.aware = ctx, aware
	close(f.started)
	<-ctx.Done()
	return nil
}

// Connect connects a member. If the configuration of a connected member has changed, Connect replaces the connection.
// Before Start is called, Connect waits. joined is the uid of the joined cluster's kube-system namespace: a cluster
// with another uid is not usable. If joined is "", the fleet accepts the first cluster that accepts the host's
// credentials.
//
// Connect does not wait for pushes on the old connection. Their context has ended, so they begin no other write. To
// wait for a write that was already sent would not help: it takes effect on the member or not, whether Connect waits or
// not. A manager that is killed leaves such writes too. The Deliveries on the member list the objects that these writes
// may have created.
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
	go func() { _ = conn.Start(life) }() // Start waits until the context life ends, and then closes idle connections
	go f.keepProbing(life, t)
	return nil
}

// expect updates the existing connection to a member with the uid that the registry has for the joined cluster, and
// with the host's present token. It returns false if the member has no connection with this configuration. joined is ""
// while the registry has no uid; the connection's uid then stays as it is.
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
		t.probeNow() // the listeners get the changed result with the next probe
	}
	return true
}

// takes replaces the token of the connection, and returns true. It returns false if the last probe was not usable, for
// example because the API server refuses the present token. The caller then makes a new connection, so that all watches
// that were opened with the refused token begin again. The caller holds f.mu.
func (t *tracked) takes(token string) bool {
	if t.conn.Uses(token) {
		return true
	}
	if token == "" || t.conn.Uses("") || !t.lastProbe.Usable() {
		return false
	}
	t.conn.bearer.replace(token)
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

// Disconnect ends the connection to a member, and disengages every part of the manager from it. When it returns, no
// listener gets a result of that connection any more.
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

// LastProbe returns the result of the last probe of a member. It returns false if the member is not connected.
func (f *Fleet) LastProbe(name string) (ProbeResult, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.members[name]; t != nil {
		return t.lastProbe, true
	}
	return ProbeResult{}, false
}

// Conn returns the connection to a member, or nil if the member is not connected.
func (f *Fleet) Conn(name string) *Conn {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.members[name]; t != nil {
		return t.conn
	}
	return nil
}

// ProbeNow makes the fleet probe a member immediately, without waiting for the next interval. Call it when a request to
// the member has failed.
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

// tell stores the result of a probe and passes it to the listeners. If another connection has replaced the probed one,
// tell drops the result and told is false. A listener gets only the member's name, so with an old result it would open
// or close the circuit breaker of the new connection. Disconnect waits until the listeners have returned.
func (f *Fleet) tell(t *tracked, was, found ProbeResult) (is ProbeResult, told bool) {
	t.telling.Lock()
	defer t.telling.Unlock()
	if t.ended {
		return was, false
	}
	f.mu.Lock()
	if t.joined == "" && found.Usable() {
		t.joined = found.UID
	}
	is = found.joinedAs(t.conn.name, t.joined)
	t.lastProbe = is
	listeners := slices.Clone(f.listeners)
	f.mu.Unlock()
	for _, listener := range listeners {
		listener(t.conn.name, was, is)
	}
	return is, true
}

// sameConfig compares the fields that ConfigFor sets, except the token, which the method takes compares. Go cannot compare
// the two proxy functions, so sameConfig compares the URLs that they return.
func sameConfig(a, b *rest.Config) bool {
	return a.Host == b.Host && a.UserAgent == b.UserAgent &&
		reflect.DeepEqual(proxyOf(a), proxyOf(b)) && reflect.DeepEqual(a.TLSClientConfig, b.TLSClientConfig)
}
