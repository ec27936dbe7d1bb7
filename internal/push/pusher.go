// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Pusher keeps what is wanted of every pair and has one lane for each member. It is
// multicluster-aware: it is engaged with a member's connection and lets go of it with that.
type Pusher struct {
	fleet *member.Fleet
	// deliveries is what the members have on record.
	deliveries *deliveries.Store
	clock      clock.WithTicker
	// wake is told of every pair about which something new is known. It must not block.
	wake func(Key)
	// rounds are the Secrets to look at in turns; enlisted tells of a new one.
	rounds   rounds
	enlisted chan struct{}
	// enlisting keeps what is known of a pair from being overtaken by what was known before.
	enlisting sync.Mutex
	// sealKey and sealHost are what Deliveries are sealed with. Set by SealWith.
	sealKey  []byte
	sealHost types.UID
	// hostLabels reads the labels of a namespace of the host. Set by ReadLabelsWith.
	hostLabels HostLabels

	mu    sync.RWMutex
	wants map[Key]map[string]*Want
	lanes map[string]*lane
	// kept is what passes have left on members and nobody has told yet, by wrapper and member.
	kept map[Key]map[string][]Kept
}

var _ multicluster.Aware = &Pusher{}

// New makes a pusher. wake is called for every wrapper about which something new is known.
func New(fleet *member.Fleet, store *deliveries.Store, clk clock.WithTicker, wake func(Key)) *Pusher {
	p := &Pusher{
		fleet:      fleet,
		deliveries: store,
		clock:      clk,
		wake:       wake,
		enlisted:   make(chan struct{}, 1),
		wants:      make(map[Key]map[string]*Want),
		lanes:      make(map[string]*lane),
	}
	fleet.OnProbe(p.probed)
	return p
}

// Start implements manager.Runnable. Lanes run by themselves; what goes over all of them does so here.
func (p *Pusher) Start(ctx context.Context) error {
	p.makeRounds(ctx)
	return nil
}

// Engage implements multicluster.Aware: it opens a lane for as long as ctx lives.
func (p *Pusher) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	conn, ok := cl.(*member.Conn)
	if !ok {
		return fmt.Errorf("engaging %s: %T is not a member's connection", name, cl)
	}
	standing, _ := p.fleet.LastProbe(conn.Name())
	l := newLane(conn, p, p.clock, standing)
	p.mu.Lock()
	p.lanes[conn.Name()] = l
	p.mu.Unlock()
	go func() {
		l.run(log.IntoContext(ctx, log.FromContext(ctx).WithName("push")))
		p.mu.Lock()
		if p.lanes[conn.Name()] == l {
			delete(p.lanes, conn.Name())
			p.rounds.leave(conn.Name())
		}
		p.mu.Unlock()
		p.deliveries.Close(l.deliveries)
		p.wakeAllOf(conn.Name())
	}()
	return nil
}

// Want says what the host wants of a pair from now on.
func (p *Pusher) Want(memberName string, want *Want) {
	key := KeyOf(want.Wrapper)
	p.mu.Lock()
	ofWrapper := p.wants[key]
	if ofWrapper == nil {
		ofWrapper = make(map[string]*Want)
		p.wants[key] = ofWrapper
	}
	was := ofWrapper[memberName]
	if was != nil && *was == *want {
		want = was // with the strings that are in memory already
	}
	ofWrapper[memberName] = want
	l := p.lanes[memberName]
	p.mu.Unlock()
	switch same := was.same(want); {
	case l == nil, same && was.Wrapper.Generation == want.Wrapper.Generation:
		return
	case !same:
		l.renew(key)
		p.enlist(key, memberName)
	}
	// A new generation alone makes no push: the lane sees that what is wanted there is what was wanted.
	l.queue.Add(key)
}

// Drop takes back what was wanted of a pair; nothing is done on the member.
func (p *Pusher) Drop(key Key, memberName string) {
	p.mu.Lock()
	delete(p.wants[key], memberName)
	if len(p.wants[key]) == 0 {
		delete(p.wants, key)
	}
	l := p.lanes[memberName]
	p.mu.Unlock()
	p.enlist(key, memberName)
	if l != nil {
		l.drop(key)
	}
}

// Result is how the pushes of one wrapper to one member went.
type Result struct {
	// Want is what is wanted of the pair now; nil when nothing is, or without a connection.
	Want *Want
	// Outcome is that of the last pass for what is wanted now; nil when there was none yet.
	Outcome *Outcome
	// Contested says who changes back what is repaired; "" when nobody does.
	Contested string
}

// HasLeft says whether the last pass has left the member, as is wanted of it now.
func (r Result) HasLeft() bool {
	return r.Want != nil && r.Want.Leaving() && r.Outcome != nil && r.Outcome.Done
}

// Result tells how the pushes of a pair went. What the member has on record is for package deliveries to tell.
func (p *Pusher) Result(key Key, memberName string) Result {
	p.mu.RLock()
	want, l := p.wants[key][memberName], p.lanes[memberName]
	p.mu.RUnlock()
	if l == nil {
		return Result{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	result := Result{Want: want, Contested: l.contested(key)}
	if out, ok := l.outcomes[key]; ok && want.same(out.want) {
		result.Outcome = &out
	}
	return result
}

// Wanted are the members of which something is wanted for a wrapper, sorted.
func (p *Pusher) Wanted(key Key) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Sorted(maps.Keys(p.wants[key]))
}

// Desired says whether anything is wanted of a pair, and whether that is to leave.
func (p *Pusher) Desired(key Key, memberName string) (wanted, leaving bool) {
	want := p.want(key, memberName)
	return want != nil, want != nil && want.Leaving()
}

// SealWith gives the pusher the host's key and uid. Call it before the first Engage.
func (p *Pusher) SealWith(key []byte, host types.UID) { p.sealKey, p.sealHost = key, host }

func (p *Pusher) want(key Key, memberName string) *Want {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.wants[key][memberName]
}

// lane is the one to a member, nil when there is none.
func (p *Pusher) lane(memberName string) *lane {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.lanes[memberName]
}

// opened queues everything that is wanted of a member whose Deliveries have just been listed. What is
// there already costs no request.
func (p *Pusher) opened(l *lane) {
	for _, key := range p.keysOf(l.conn.Name()) {
		l.queue.Add(key)
		p.wake(key)
	}
}

func (p *Pusher) probed(name string, was, is member.ProbeResult) {
	if l := p.lane(name); l != nil {
		l.probed(was, is)
	}
	if was.Usable() != is.Usable() || was.Reason != is.Reason {
		p.wakeAllOf(name)
	}
}

func (p *Pusher) wakeAllOf(name string) {
	for _, key := range p.keysOf(name) {
		p.wake(key)
	}
}

func (p *Pusher) keysOf(name string) []Key {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var keys []Key
	for key, ofWrapper := range p.wants {
		if ofWrapper[name] != nil {
			keys = append(keys, key)
		}
	}
	return keys
}
