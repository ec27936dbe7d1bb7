// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/observed"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/coalesce"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
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

// publish writes the status if it differs from the stored one. While pushes are under way, shortly after the start of the
// manager, and if the change is no news, it may delay the write. It then returns the time until the next reconcile.
func (p *reconciliation) publish(ctx context.Context) (ctrl.Result, error) {
	wrapperevents.Record(p.events, p.wrapper, wrapperevents.Kept(p.key, p.pusher.TakeKept(p.key), p.members)...)
	trace := generationTrace{p.tracer, p.wrapper, p.now}
	before := p.wrapper.WrapperStatus().DeepCopy()
	snapshot := p.snapshot(before)
	next := report.Build(snapshot, p.now)
	p.deadlineAgain = report.NextDeadline(snapshot, &next, p.now)
	trace.observed(&snapshot)
	next.Placement, next.Rollout, next.Upgrade = before.Placement, before.Rollout, before.Upgrade
	if p.invalid == "" && p.wrapper.GetDeletionTimestamp() == nil {
		next.Rollout, next.Upgrade = p.rollout, p.upgrade
	}
	if p.decision.Status.ObservedGeneration != 0 {
		// The step place does not write a decision that differs only in its generation. So publish writes the generation.
		next.Placement.ObservedGeneration = p.decision.Status.ObservedGeneration
	}
	final := settled(&next)
	if equality.Semantic.DeepEqual(*before, next) {
		p.writes.notePublished(p.key, p.now, final)
		p.announced(&next)
		trace.published(&next, p.invalid != "")
		return ctrl.Result{}, nil
	}
	if wait := p.queue.remainsOf(startupGrace, p.now); wait > 0 && report.KnowsLess(snapshot, p.now) {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if !final {
		if wait := p.writes.dueIn(p.key, p.now, paced(before)); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	change := coalesce.OfStatus(before, &next)
	if wait := p.writes.waitsFor(p.key, change, p.now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := p.writer(p.wrapper).patchStatus(ctx, func(status *v1alpha1.WrapperStatus) { *status = next })
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: statusInterval}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("writing the status of %s: %w", p.key, err)
	}
	p.writes.notePublished(p.key, p.now, final)
	p.writes.noteChange(p.key, change, p.now)
	p.announced(&next)
	wrapperevents.Record(p.events, p.wrapper, wrapperevents.Readiness(before, &next, p.wrapper.GetDeletionTimestamp() != nil)...)
	trace.published(&next, p.invalid != "")
	return ctrl.Result{}, nil
}

// announced tells the pusher which announcements of reinstalls the stored status shows. A status has at most 500 lines: a member
// without a line is not reinstalled.
func (p *reconciliation) announced(stored *v1alpha1.WrapperStatus) {
	for i := range stored.Clusters {
		if line := &stored.Clusters[i]; line.Reason == v1alpha1.ReasonReinstallAnnounced {
			p.pusher.Announced(p.key, line.Name, line.Message)
		}
	}
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
	observer := p.observer(p.key, p.wrapper, p.members)
	observe := func(name string, leaving bool) report.Member {
		return observer.Observe(name, observed.Assignment{Revision: p.revision, Desired: p.desired[name], Leaving: leaving, Refusal: p.refusals[name], Wait: p.waits[name]})
	}
	for _, name := range p.decision.Status.Clusters {
		m := observe(name, false)
		m.Withheld = withheld.Has(name)
		in.Members = append(in.Members, m)
	}
	for _, name := range p.decision.Status.Leaving {
		in.Members = append(in.Members, observe(name, true))
	}
	return in
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
