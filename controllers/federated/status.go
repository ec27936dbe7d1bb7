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
	// statusInterval is the shortest time between two statuses of a wrapper that has not come to rest.
	statusInterval = time.Second
	// statusBytesPerSecond paces large statuses further.
	statusBytesPerSecond = 64 << 10
	// startupGrace is how long after its start the manager may know less of a member than the status says.
	startupGrace = 30 * time.Second
)

// publish writes the status when it differs from the present one.
func (p *reconciliation) publish(ctx context.Context) (ctrl.Result, error) {
	p.recordKept()
	status := p.wrapper.WrapperStatus()
	before := status.DeepCopy()
	snapshot := p.snapshot(before)
	next := report.Build(snapshot, p.now)
	next.Placement, next.Rollout = before.Placement, before.Rollout
	if p.invalid == "" && p.wrapper.GetDeletionTimestamp() == nil {
		next.Rollout = p.rollout
	}
	if p.decision.Status.ObservedGeneration != 0 {
		// place writes no decision that differs only in its generation.
		next.Placement.ObservedGeneration = p.decision.Status.ObservedGeneration
	}
	final := settled(&next)
	if equality.Semantic.DeepEqual(*before, next) {
		p.writes.notePublished(p.key, p.now, final)
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
	base := p.object().DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of an object is one
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
	return ctrl.Result{}, nil
}

// learning is how much longer after its start the manager holds back a status that only has less information than the present one.
func (r *Reconciler) learning(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started.IsZero() {
		return 0
	}
	return max(0, r.started.Add(startupGrace).Sub(now))
}

// snapshot collects the inputs of the report.
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

// observe returns the present information about one member.
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
	if refused := pushed.Approval; refused != nil {
		m.Approval = report.Push{State: refused.State, Reason: refused.Reason, Message: refused.Message}
	}
	return m
}

// observeUnrendered observes a member that waits, if the manager cannot render its present revision, or it has no revision. Only
// its Delivery shows what it holds. The manager repairs no drift there.
func (p *reconciliation) observeUnrendered(m *report.Member, seen *deliveries.Summary) {
	m.Revision, m.RepairsDrift = "", false
	if seen != nil && seen.Wrapper.UID == p.wrapper.GetUID() {
		m.Held, m.Revision, m.Rendering = seen.Complete && !p.pusher.Result(p.key, m.Name).Unrecorded, seen.Revision, seen.Rendering
	}
}

// reachability reports whether the manager can reach a member, by the last probe and the connection.
func (p *reconciliation) reachability(name string, record deliveries.Record) report.Reachability {
	probe, connected := p.fleet.LastProbe(name)
	if !connected {
		if mc := p.members[name]; mc != nil {
			ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
			if ready != nil && ready.Status == metav1.ConditionFalse {
				return report.Reachability{Known: true, Reason: ready.Reason, Message: ready.Message}
			}
		}
		return report.Reachability{}
	}
	return known(report.Reachability{Known: probe.Probed, Usable: probe.Usable(), Reason: probe.Reason, Message: probe.Message}, record)
}

// known is the member's reachability, limited by the state of its Deliveries. If the member answers and its Deliveries
// are not read yet, or can no longer be read, it is unknown.
func known(s report.Reachability, record deliveries.Record) report.Reachability {
	if s.Usable && (!record.Listed || record.Unreadable != "") {
		return report.Reachability{Message: record.Unreadable}
	}
	return s
}

// settled reports whether the manager need not wait with the status, because no push is under way.
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

// paced is the shortest time between two statuses of this size.
func paced(s *v1alpha1.WrapperStatus) time.Duration {
	data, err := json.Marshal(s)
	if err != nil {
		return statusInterval
	}
	return max(statusInterval, time.Duration(len(data))*time.Second/statusBytesPerSecond)
}
