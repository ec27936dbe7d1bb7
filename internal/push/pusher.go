// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Pusher holds the desired state of every pair and has one queue for each member. It is multicluster-aware: the fleet
// engages it with a member's connection, and it drops the connection when that ends.
type Pusher struct {
	fleet *member.Fleet
	// deliveries are the Deliveries of all members.
	deliveries *deliveries.Store
	clock      clock.WithTicker
	host       Host
	// wake is called for every pair about which the pusher has learned something. It must not block.
	wake    func(Key)
	desired desiredStates
	secrets secretResync
	// kept are the objects that passes kept on members and that no event has reported yet.
	kept keptObjects
	// unrecorded are the objects that passes applied and could not record.
	unrecorded plan.Unrecorded

	mu     sync.RWMutex
	queues map[string]*memberQueue
}

// Host is the part of the host that passes need.
type Host struct {
	// SealKey and UID seal Deliveries; without them the manager seals none.
	SealKey []byte
	UID     types.UID
	// Labels reads the labels of a namespace of the host, when the manager creates one on a member. It is nil if the
	// pusher cannot read them.
	Labels HostLabels
	// Observes reports whether a ready collector observes a member, and reports unrecorded objects as unfinished. A nil
	// Observes means that no collector does.
	Observes func(memberName string) bool
}

var _ multicluster.Aware = &Pusher{}

// New makes a pusher. It calls wake with the key of every wrapper about which it has learned something.
func New(fleet *member.Fleet, store *deliveries.Store, clk clock.WithTicker, host Host, wake func(Key)) *Pusher {
	p := &Pusher{
		fleet:      fleet,
		deliveries: store,
		clock:      clk,
		host:       host,
		wake:       wake,
		queues:     make(map[string]*memberQueue),
	}
	p.secrets = secretResync{pusher: p, enlisted: make(chan struct{}, 1)}
	fleet.OnProbe(p.probed)
	return p
}

// Start implements manager.Runnable. Each queue runs by itself; Start runs the work that concerns all of them.
func (p *Pusher) Start(ctx context.Context) error {
	p.secrets.run(ctx)
	return nil
}

// Engage implements multicluster.Aware: it opens a queue for as long as ctx lives.
func (p *Pusher) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	conn, ok := cl.(*member.Conn)
	if !ok {
		return fmt.Errorf("engaging %s: %T is not a member's connection", name, cl)
	}
	probe, _ := p.fleet.LastProbe(conn.Name())
	q := newMemberQueue(conn, p, p.clock, probe)
	p.mu.Lock()
	p.queues[conn.Name()] = q
	p.mu.Unlock()
	go func() {
		q.run(log.IntoContext(ctx, log.FromContext(ctx).WithName("push")))
		p.mu.Lock()
		if p.queues[conn.Name()] == q {
			delete(p.queues, conn.Name())
			p.secrets.schedule.Leave(conn.Name())
		}
		p.mu.Unlock()
		p.deliveries.Close(q.deliveries)
		p.wakeAllOf(conn.Name())
	}()
	return nil
}

// SetDesired sets the desired state of a pair.
func (p *Pusher) SetDesired(memberName string, desired *plan.Desired) {
	key := KeyOf(desired.Wrapper)
	was, desired := p.desired.set(key, memberName, desired)
	q := p.queue(memberName)
	switch same := was.Same(desired); {
	case q == nil, same && was.Wrapper.Generation == desired.Wrapper.Generation:
		return
	case !same:
		q.histories.forget(key)
		p.secrets.enlist(key, memberName)
	}
	// A new generation alone causes no push: the queue sees that the desired state is the same.
	q.queue.Add(key)
}

// RemoveDesired deletes the desired state of a pair. It does nothing on the member.
func (p *Pusher) RemoveDesired(key Key, memberName string) {
	p.desired.remove(key, memberName)
	p.secrets.enlist(key, memberName)
	if q := p.queue(memberName); q != nil {
		q.drop(key)
	}
}

// Result is the result of the pushes of one wrapper to one member.
type Result struct {
	// Desired is the present desired state of the pair; nil when there is none, or without a connection.
	Desired *Desired
	// Outcome is the outcome of the last pass for the present desired state; nil when there was none yet.
	Outcome *plan.Outcome
	// Contested is the status message about the client that undoes repairs; "" when no client does.
	Contested string
	// Unrecorded reports whether an earlier pass applied objects that it could not record. Their entries in the Delivery may then
	// be wrong.
	Unrecorded bool
	// Approval is why the manager does not approve a pending InstallPlan of spec.upgrade; nil when there is no such reason.
	Approval *memberapi.Trouble
}

// IsHeld reports whether the member holds exactly the desired objects, by its Delivery. It does not look at drift.
func (r Result) IsHeld(s *deliveries.Summary) bool { return !r.Unrecorded && r.Desired.IsHeldBy(s) }

// HasLeft reports whether the wrapper is to leave the member and the last pass has completed that.
func (r Result) HasLeft() bool {
	return r.Desired != nil && r.Desired.Leaving() && r.Outcome != nil && r.Outcome.Done
}

// Result returns how the pushes of a pair went. Package deliveries has the member's Deliveries.
func (p *Pusher) Result(key Key, memberName string) Result {
	desired, q := p.desired.get(key, memberName), p.queue(memberName)
	if q == nil {
		return Result{}
	}
	last, contested := q.histories.of(key)
	result := Result{Desired: desired, Contested: contested, Unrecorded: p.unrecorded.Of(plan.Pair{Member: memberName, Key: key}).Any(),
		Approval: q.approvals.of(key, desired)}
	if desired.Same(last.Desired) {
		result.Outcome = &last
	}
	return result
}

// DesiredMembers are the members with a desired state for a wrapper, sorted.
func (p *Pusher) DesiredMembers(key Key) []string { return p.desired.members(key) }

// DesiredState is the desired state of a pair; nil when there is none.
func (p *Pusher) DesiredState(key Key, memberName string) *Desired {
	return p.desired.get(key, memberName)
}

// Desired reports whether a pair has a desired state, and whether that is to leave the member.
func (p *Pusher) Desired(key Key, memberName string) (wanted, leaving bool) {
	desired := p.desired.get(key, memberName)
	return desired != nil, desired != nil && desired.Leaving()
}

// queue returns the queue of a member, nil if there is none.
func (p *Pusher) queue(memberName string) *memberQueue {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.queues[memberName]
}

// opened queues all pairs of a member whose Deliveries have just been listed. Pairs that the member already holds
// cost no request.
func (p *Pusher) opened(q *memberQueue) {
	for _, key := range p.desired.keysOf(q.conn.Name()) {
		q.queue.Add(key)
		p.wake(key)
	}
}

func (p *Pusher) probed(name string, was, is member.ProbeResult) {
	if q := p.queue(name); q != nil {
		q.probed(was, is)
	}
	if was.Usable() != is.Usable() || was.Reason != is.Reason {
		p.wakeAllOf(name)
	}
}

func (p *Pusher) wakeAllOf(name string) {
	for _, key := range p.desired.keysOf(name) {
		p.wake(key)
	}
}
