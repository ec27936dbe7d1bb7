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
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// Pusher holds the desired state of every pair and has one queue for each connected member. It implements
// multicluster.Aware: the fleet calls Engage with each new connection to a member. When the connection ends, the pusher
// drops the queue.
type Pusher struct {
	fleet *member.Fleet
	// deliveries has the summaries of the Deliveries of all members.
	deliveries *deliveries.Store
	clock      clock.WithTicker
	host       Host
	// wake tells the wrapper's controller that something about one of the wrapper's pairs has changed. It gets the
	// wrapper's key and must not block.
	wake    func(Key)
	desired desiredStates
	secrets secretResync
	// kept are the objects that passes kept on members, until an event reports them.
	kept keptObjects
	// requests are the evidence requests (v1alpha1.EvidenceRequest) that Deliveries are to have.
	requests EvidenceRequests
	// unrecorded are the objects that passes applied without being able to record them in the Delivery.
	unrecorded plan.Unrecorded

	mu     sync.RWMutex
	queues map[string]*memberQueue
}

// Host has what passes need from the host.
type Host struct {
	// SealKey is the key of the seals, the HMACs by which the host recognises its own Deliveries. If it is nil, Deliveries
	// get no seal.
	SealKey []byte
	// UID is the host's uid, which is part of each seal. If it is "", Deliveries get no seal.
	UID types.UID
	// Labels reads the labels of a namespace on the host. A pass calls it before it creates that namespace on a member. If
	// Labels is nil, passes create namespaces without the Pod Security labels of the host's namespace.
	Labels HostLabels
	// Observes reports whether a member has a ready collector that reports unrecorded objects: those that a pass applied
	// and did not record in the Delivery. If Observes is nil, no member has such a collector.
	Observes func(memberName string) bool
	// SharesIntents makes new pairs that wait at a member share the write of their intents (package intents).
	SharesIntents bool
	// ReinstallsOperators lets the pusher begin reinstalls of operators. Without it, the pusher still finishes one whose CSVs are all removed.
	ReinstallsOperators bool
	// Tracer makes traces; nil if tracing is off.
	Tracer *tracing.Tracer
}

// observes reports whether a member has a ready collector that reports unrecorded objects: those that a pass applied and
// did not record in the Delivery.
func (h *Host) observes(memberName string) bool { return h.Observes != nil && h.Observes(memberName) }

var _ multicluster.Aware = &Pusher{}

// New makes a pusher. The pusher calls wake with a wrapper's key when something about one of the wrapper's pairs has
// changed.
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
	p.requests = EvidenceRequests{queue: p.queue}
	fleet.OnProbe(p.probed)
	return p
}

// Start implements manager.Runnable. It schedules the checks of all members' Secrets until ctx ends. The queues of the
// members run without it: Engage starts them.
func (p *Pusher) Start(ctx context.Context) error {
	p.secrets.run(ctx)
	return nil
}

// Engage implements multicluster.Aware. It runs a queue for the member until ctx ends.
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
	queues.begin(conn.Name(), q)
	go func() {
		q.run(log.IntoContext(ctx, log.FromContext(ctx).WithName("push")))
		p.mu.Lock()
		if p.queues[conn.Name()] == q {
			delete(p.queues, conn.Name())
			p.secrets.schedule.Leave(conn.Name())
		}
		p.mu.Unlock()
		queues.end(conn.Name(), q)
		p.deliveries.Close(q.deliveries)
		p.wakeAllOf(conn.Name())
		p.requests.wakeAllOf(conn.Name())
	}()
	return nil
}

// SetDesired sets the desired state of a pair.
func (p *Pusher) SetDesired(memberName string, desired *plan.Desired) {
	key := KeyOf(desired.Wrapper)
	was, desired := p.desired.set(key, memberName, desired)
	q, same := p.queue(memberName), was.Same(desired)
	if !same && !desired.Leaving() {
		p.host.Tracer.Changed(desired.Wrapper, memberName, desired.Revision)
	}
	switch {
	case q == nil, same && was.Wrapper.Generation == desired.Wrapper.Generation && was.SameTurn(desired):
		return
	case !same:
		q.histories.forget(key)
		p.secrets.enlist(key, memberName)
	}
	// A new generation of the wrapper may need no write. The method judge of the queue then finds that no pass is due.
	q.queue.Add(key)
}

// RemoveDesired deletes the desired state of a pair. The objects on the member stay as they are.
func (p *Pusher) RemoveDesired(key Key, memberName string) {
	p.desired.remove(key, memberName)
	p.requests.written(plan.Pair{Member: memberName, Key: key}, nil)
	p.secrets.enlist(key, memberName)
	if q := p.queue(memberName); q != nil {
		q.drop(key)
	}
}

// Result is what the pusher knows about one wrapper on one member.
type Result struct {
	// Desired is the desired state of the pair; nil when the pair has none, or the member has no queue.
	Desired *Desired
	// Outcome is the outcome of the last pass for this desired state; nil before the end of the first such pass.
	Outcome *plan.Outcome
	// Contested is the status message about objects that another client changes back after every repair; "" when there are
	// none.
	Contested string
	// Unrecorded is true if an earlier pass applied objects that it could not record. The Delivery's entries of these
	// objects may be wrong.
	Unrecorded bool
	// Reinstall is the present step of a reinstall of an operator, or the reason why the manager keeps an operator that is
	// ahead of its target; nil when there is none.
	Reinstall *memberapi.Trouble
	// Unapproved is the reason why the manager does not approve a pending InstallPlan of spec.upgrade; nil when there
	// is none.
	Unapproved *memberapi.Trouble
}

// IsHeld reports whether the member has the desired state: its Delivery records exactly the desired objects as applied,
// and the pair has no unrecorded objects. s is the summary of that Delivery. IsHeld ignores drift. It does not mean that
// the pair is in the state Held.
func (r Result) IsHeld(s *deliveries.Summary) bool { return !r.Unrecorded && r.Desired.IsHeldBy(s) }

// HasLeft reports whether the wrapper is to leave the member, and the last pass has completed that.
func (r Result) HasLeft() bool {
	return r.Desired != nil && r.Desired.Leaving() && r.Outcome != nil && r.Outcome.Done
}

// Result returns what the pusher knows about a pair; an empty Result when the member has no queue. The summary of the
// Delivery is not part of it, because package deliveries has that.
func (p *Pusher) Result(key Key, memberName string) Result {
	desired, q := p.desired.get(key, memberName), p.queue(memberName)
	if q == nil {
		return Result{}
	}
	last, contested := q.histories.of(key)
	result := Result{Desired: desired, Contested: contested, Unrecorded: p.unrecorded.Of(plan.Pair{Member: memberName, Key: key}).Any(),
		Unapproved: q.approvals.of(key, desired), Reinstall: q.reinstalls.of(key, desired)}
	if desired.Same(last.Desired) {
		result.Outcome = &last
	}
	return result
}

// Announced tells the pusher that a status of the wrapper shows this message about a member, with reason ReinstallAnnounced. From
// then on the announcement counts: the manager removes nothing before a status has shown it for upgrade.AnnouncedFor.
func (p *Pusher) Announced(key Key, memberName, message string) {
	if q := p.queue(memberName); q != nil {
		q.wakeAfter(key, q.reinstalls.shown(key, message))
	}
}

// DesiredMembers returns the members with a desired state of a wrapper, sorted.
func (p *Pusher) DesiredMembers(key Key) []string { return p.desired.members(key) }

// DesiredState returns the desired state of a pair; nil when the pair has none.
func (p *Pusher) DesiredState(key Key, memberName string) *Desired {
	return p.desired.get(key, memberName)
}

// Desired reports whether a pair has a desired state (wanted), and whether by that state the wrapper is to leave the
// member (leaving).
func (p *Pusher) Desired(key Key, memberName string) (wanted, leaving bool) {
	desired := p.desired.get(key, memberName)
	return desired != nil, desired != nil && desired.Leaving()
}

// Requests returns the requests for evidence that Deliveries are to have.
func (p *Pusher) Requests() *EvidenceRequests { return &p.requests }

// queue returns the queue of a member; nil when the member is not connected.
func (p *Pusher) queue(memberName string) *memberQueue {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.queues[memberName]
}

// opened queues all pairs of a member after the first complete list of its Deliveries. For a pair that the Delivery
// records as delivered, no request follows.
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
		p.requests.wakeAllOf(name)
	}
}

func (p *Pusher) wakeAllOf(name string) {
	for _, key := range p.desired.keysOf(name) {
		p.wake(key)
	}
}
