// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

const (
	// statusInterval is the shortest time between two writes of a wrapper's status while pushes are under way.
	statusInterval = time.Second
	// statusBytesPerSecond makes the time between two writes longer for a large status: one second for each 64 KiB.
	statusBytesPerSecond = 64 << 10
	// startupGrace is how long the manager, after its start, keeps the stored status if the new one only has less
	// information. In this time the manager may not have read all Deliveries of the members yet.
	startupGrace = 30 * time.Second
)

// publish writes the status if it differs from the stored one. While pushes are under way, and shortly after the start
// of the manager, it may delay the write. It then returns the time until the next reconcile.
func (p *reconciliation) publish(ctx context.Context) (ctrl.Result, error) {
	p.recordKept()
	status := p.wrapper.WrapperStatus()
	before := status.DeepCopy()
	snapshot := p.snapshot(before)
	next := report.Build(snapshot, p.now)
	p.deadlineAgain = report.NextDeadline(snapshot, &next, p.now)
	p.traceMembers(&snapshot)
	next.Placement, next.Rollout, next.Upgrade = before.Placement, before.Rollout, before.Upgrade
	if p.invalid == "" && p.wrapper.GetDeletionTimestamp() == nil {
		next.Rollout, next.Upgrade = p.rollout, p.upgrade
	}
	if p.decision.Status.ObservedGeneration != 0 {
		// place does not write a decision that differs only in its generation. So publish writes the generation.
		next.Placement.ObservedGeneration = p.decision.Status.ObservedGeneration
	}
	final := settled(&next)
	if equality.Semantic.DeepEqual(*before, next) {
		p.writes.notePublished(p.key, p.now, final)
		p.tracePublished(&next)
		return ctrl.Result{}, nil
	}
	if wait := p.learning(p.now); wait > 0 && report.KnowsLess(snapshot, p.now) {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if !final {
		if wait := p.writes.dueIn(p.key, p.now, paced(before)); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	base := p.object().DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	*status = next
	err := p.client.Status().Patch(ctx, p.object(), client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: statusInterval}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("writing the status of %s: %w", p.key, err)
	}
	p.writes.noteWritten(p.wrapper)
	p.writes.notePublished(p.key, p.now, final)
	p.recordReadiness(before, &next)
	p.tracePublished(&next)
	return ctrl.Result{}, nil
}

// learning returns how much of startupGrace is left; 0 when it is over.
func (r *Reconciler) learning(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started.IsZero() {
		return 0
	}
	return max(0, r.started.Add(startupGrace).Sub(now))
}

// snapshot returns the input from which package report builds the status.
func (p *reconciliation) snapshot(before *v1alpha1.WrapperStatus) report.Input {
	in := report.Input{
		Generation:     p.wrapper.GetGeneration(),
		Deleting:       p.wrapper.GetDeletionTimestamp() != nil,
		UpdateRevision: p.revision,
		PlacedOK:       p.decision.Placed == metav1.ConditionTrue,
		PlacedReason:   p.decision.Reason,
		PlacedMessage:  p.decision.Message,
		Notice:         p.decision.Notice,
		Invalid:        p.invalid,
		Approve:        messages.ApproveCommand(p.key.Kind, p.key.Namespace, p.key.Name),
		Before:         before,

		ProgressDeadline: time.Duration(p.wrapper.WrapperSpec().Rollout.ProgressDeadlineSeconds) * time.Second,
	}
	if in.UpdateRevision == "" {
		in.UpdateRevision = before.UpdateRevision
	}
	if in.PlacedReason == "" {
		in.PlacedReason, in.PlacedMessage = v1alpha1.ReasonSpecInvalid, p.invalid
		if in.Deleting {
			in.PlacedReason, in.PlacedMessage = v1alpha1.ReasonDeleting, "the wrapper is being deleted"
		}
	}
	if p.rollout.Exists() {
		in.Rollout = report.NewRollout(&p.rollout, in.Approve)
	}
	withheld := sets.New(p.decision.Status.Withheld...)
	for _, name := range p.decision.Status.Clusters {
		m := p.observe(name, false)
		m.Withheld = withheld.Has(name)
		in.Members = append(in.Members, m)
	}
	for _, name := range p.decision.Status.Leaving {
		in.Members = append(in.Members, p.observe(name, true))
	}
	return in
}

// observe returns what the manager knows about the wrapper on one member, as input for package report.
func (p *reconciliation) observe(name string, leaving bool) report.Member {
	record, pushed := p.deliveries.Record(p.key, name), p.pusher.Result(p.key, name)
	m := report.Member{
		Name:         name,
		Leaving:      leaving,
		Revision:     p.revision,
		Held:         pushed.IsHeld(record.Summary),
		RepairsDrift: p.wrapper.WrapperSpec().Drift != v1alpha1.DriftReport,
		Contested:    pushed.Contested,
		Refusal:      p.refusals[name],
		Wait:         p.waits[name],
		Reachability: p.reachability(name, record),
		Listed:       record.Listed,
		Tried:        pushed.Outcome != nil,
	}
	if desired := p.desired[name]; desired != nil {
		m.Revision, m.Rendering = desired.Revision, desired.Rendering.Digest()
	} else if m.Wait.Reason != "" {
		p.observeUnrendered(&m, record.Summary)
	}
	if seen := record.Summary; seen != nil {
		m.HeldRevision, m.Judged, m.Status = seen.Revision, seen.Judged, seen.Status
	}
	if out := pushed.Outcome; out != nil && !out.Done {
		m.Push = report.Push{State: out.State, Reason: out.Reason, Message: out.Message, Unrepaired: out.LeftDrift(), Delivery: out.Overtaken}
	}
	if refused := pushed.Unapproved; refused != nil {
		m.Unapproved = report.Push{State: refused.State, Reason: refused.Reason, Message: refused.Message}
	}
	return m
}

// observeUnrendered completes the facts about a member that waits in a rollout and has no desired state: its revision
// cannot be rendered, or it has no revision yet. Only the member's Delivery then shows which objects are there. The
// manager repairs no drift on such a member.
func (p *reconciliation) observeUnrendered(m *report.Member, seen *deliveries.Summary) {
	m.Revision, m.RepairsDrift = "", false
	if seen != nil && seen.Wrapper.UID == p.wrapper.GetUID() {
		m.Held, m.Revision, m.Rendering = seen.Complete && !p.pusher.Result(p.key, m.Name).Unrecorded, seen.Revision, seen.Rendering
	}
}

// reachability returns whether the manager can reach a member, by the last probe. Without a connection it returns the
// reason in the MemberCluster's condition Ready.
func (p *reconciliation) reachability(name string, record deliveries.Record) report.Reachability {
	probe, connected := p.fleet.LastProbe(name)
	if !connected {
		if mc := p.members[name]; mc != nil {
			ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
			if ready != nil && ready.Status == metav1.ConditionFalse {
				reason := ready.Reason
				if v1alpha1.IsUnreachable(reason) { // as in the result of a probe
					reason = v1alpha1.ReasonUnreachable
				}
				return report.Reachability{Known: true, Reason: reason, Message: ready.Message}
			}
		}
		return report.Reachability{}
	}
	return known(report.Reachability{Known: probe.Probed, Usable: probe.Usable(), Reason: probe.Reason, Message: probe.Message}, record)
}

// known returns the reachability s, with one exception: if the member is usable, but the manager has not read its
// Deliveries yet or can no longer read them, the result is an unknown reachability.
func known(s report.Reachability, record deliveries.Record) report.Reachability {
	if s.Usable && (!record.Listed || record.Unreadable != "") {
		return report.Reachability{Message: record.Unreadable}
	}
	return s
}

// settled reports whether no push is under way on any member. The manager then writes the status without a delay.
func settled(s *v1alpha1.WrapperStatus) bool {
	for i := range s.Clusters {
		switch s.Clusters[i].State {
		case v1alpha1.StatePushing, v1alpha1.StateRemoving, v1alpha1.StateUnknown:
			return false
		case v1alpha1.StateProgressing:
			switch s.Clusters[i].Reason {
			case v1alpha1.ReasonApplying, v1alpha1.ReasonDrifted, v1alpha1.ReasonUnfinished:
				return false
			}
		}
	}
	return true
}

// paced returns the shortest time between two writes of a status of this size, while pushes are under way.
func paced(s *v1alpha1.WrapperStatus) time.Duration {
	data, err := json.Marshal(s)
	if err != nil {
		return statusInterval
	}
	return max(statusInterval, time.Duration(len(data))*time.Second/statusBytesPerSecond)
}
