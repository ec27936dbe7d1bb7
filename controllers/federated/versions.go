// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/rolloutstate"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

const (
	// versionInterval is the shortest time between two versions that the manager takes for a wrapper. Each version
	// becomes a revision. Without the limit, a member that reports another version each second could fill the host with
	// revisions. The first version of a Subscription does not wait.
	versionInterval = 30 * time.Second
	// maxVersionMessage is the largest length of the message of a Subscription in status.upgrade, in bytes.
	maxVersionMessage = 512
)

// takeVersions takes new versions for Subscriptions with `approve: Latest`, from the reports of the members of the first
// wave. It writes the versions to the status before any step acts on them. The step revise then writes a revision with
// these versions, and the manager brings it to the members like any other revision.
func (p *reconciliation) takeVersions(ctx context.Context) error {
	spec, status := p.wrapper.WrapperSpec(), p.wrapper.WrapperStatus()
	p.upgrade = upgrade.Carry(&spec.Upgrade, &status.Upgrade)
	if len(p.upgrade.Subscriptions) == 0 {
		return nil
	}
	plan, skipped := (*rollout.Plan)(nil), []string(nil)
	if spec.Rollout.IsPaced() {
		var err error
		if plan, err = p.rolloutPlan(); err != nil {
			return nil //nolint:nilerr // rollOut compiles the same waves, and reports the error
		}
		state := rolloutstate.Of(status.Rollout)
		skipped = p.rolloutApprovals(ctx, &state).Skip
	}
	first := firstWaveOf(plan, skipped, p.observer(p.key, p.wrapper, p.members))
	return p.takeFrom(ctx, &first)
}

// takeFrom chooses a version for each Subscription from the reports of the first wave. If the manager may take the
// version now, takeFrom writes it to the status. If not, the status gets the reason and a message.
func (p *reconciliation) takeFrom(ctx context.Context, first *firstWave) error {
	before := p.wrapper.WrapperStatus().Upgrade
	state := rolloutstate.Of(p.wrapper.WrapperStatus().Rollout)
	var approvals rollout.Approvals
	if p.wrapper.WrapperSpec().Rollout.IsPaced() {
		approvals = p.rolloutApprovals(ctx, &state)
	}
	versions := versionTaker{first: first, before: before.Subscriptions, hold: holdOf(p.wrapper, &state, &approvals, first.name), now: p.now}
	for i := range before.Subscriptions {
		versions.last = latest(versions.last, before.Subscriptions[i].Since.Time)
	}
	taken := false
	for i := range p.upgrade.Subscriptions {
		taken = versions.take(&p.upgrade.Subscriptions[i]) || taken
	}
	p.versionsAgain = versions.again
	if !taken {
		return nil
	}
	if err := p.writer(p.wrapper).patchStatus(ctx, func(status *v1alpha1.WrapperStatus) { status.Upgrade = p.upgrade }); err != nil {
		return fmt.Errorf("writing the versions of %s: %w", p.key, err)
	}
	wrapperevents.Record(p.events, p.wrapper, wrapperevents.Versions(&before, &p.upgrade)...)
	return nil
}

// versionTaker takes the versions of one wrapper in one reconcile.
type versionTaker struct {
	first *firstWave
	// before are the versions in the status.
	before []v1alpha1.SubscriptionVersion
	hold   hold
	// last is when the manager last took a version for any Subscription; zero if it has never taken one.
	last, now time.Time
	// again is the earliest time at which the manager may take a version for which it only has to wait; zero if there is
	// no such version. take sets it.
	again time.Time
}

// take sets the version of Subscription s if the manager may take one now, and returns true. If not, it sets the reason
// and the message of s.
func (t *versionTaker) take(s *v1alpha1.SubscriptionVersion) (taken bool) {
	if t.first.unread { // a manager that has just started keeps the earlier reason and message
		if at := slices.IndexFunc(t.before, func(w v1alpha1.SubscriptionVersion) bool { return w.Name == s.Name }); at >= 0 {
			s.Reason, s.Message = t.before[at].Reason, t.before[at].Message
		}
		return false
	}
	reports, absent := t.first.reportsOn(s.Name, s.CSV == "")
	choice := upgrade.Choose(s.CSV, reports, absent)
	switch {
	case choice.CSV == "":
		s.Reason, s.Message = choice.Reason, health.Clean(choice.Message, maxVersionMessage)
	case t.first.empty != "" && s.CSV != "":
		s.Reason, s.Message = v1alpha1.ReasonWaveHeld, fmt.Sprintf("%s is not taken while wave %s has no placed cluster: no cluster would try this version before the others",
			health.Clean(choice.CSV, maxVersionMessage/2), t.first.empty)
	case t.mayTake(s):
		*s = v1alpha1.SubscriptionVersion{Name: s.Name, CSV: choice.CSV, Since: metav1.NewTime(t.now.Truncate(time.Second))}
		return true
	case t.hold.reason != "":
		s.Reason, s.Message = t.hold.reason, health.Clean(choice.CSV+t.hold.message, maxVersionMessage)
	}
	return false
}

// mayTake reports whether the manager may take a version for Subscription s now. If the manager only has to wait, mayTake
// sets the field `again` to the end of the wait.
func (t *versionTaker) mayTake(s *v1alpha1.SubscriptionVersion) bool {
	due := t.now
	if s.CSV != "" {
		due = t.last.Add(versionInterval)
	}
	if t.hold.holds && (!t.hold.exceptFirst || s.CSV != "") {
		if t.hold.reason != "" {
			return false
		}
		due = latest(due, t.now.Add(time.Second))
	}
	if !due.After(t.now) {
		return true
	}
	if t.again.IsZero() || due.Before(t.again) {
		t.again = due
	}
	return false
}

// hold is why the manager takes no version now. With the zero value it may take one.
type hold struct {
	// holds is true if the manager takes no version now.
	holds bool
	// reason is the reason that the status shows; "" if the manager may take a version again within moments.
	reason string
	// message is the end of the message in the status. The name of the version comes before it.
	message string
	// exceptFirst is true if the manager may still take the first version of a Subscription.
	exceptFirst bool
}

// holdOf returns why the manager takes no version now. state and approvals are those of the wrapper's rollout. firstWave
// is the name of the first wave with a placed member. A new version makes a new revision, and the rollout of a new
// revision begins at the first wave. So the manager takes no version while a later wave changes: frequent versions would
// restart the rollout each time, and the last waves would never change. After a failed rollout the manager takes a
// version only after an Approval that allows Retry.
func holdOf(w v1alpha1.Wrapper, state *rollout.State, approvals *rollout.Approvals, firstWave string) hold {
	spec, status := w.WrapperSpec(), w.WrapperStatus()
	if spec.Suspend.HoldsWaves() {
		return hold{holds: true, reason: v1alpha1.ReasonSuspended, message: fmt.Sprintf(" is not taken while spec.suspend is %s", spec.Suspend)}
	}
	if !spec.Rollout.IsPaced() {
		return hold{}
	}
	// A person has approved the wave that comes next. Another version would begin another rollout, for which that
	// Approval does not count.
	isApproved := !state.Begun && slices.Contains(approvals.Waves, state.Wave)
	switch {
	case status.ObservedGeneration != w.GetGeneration() || state.Revision != status.UpdateRevision:
		return hold{holds: true} // the state of the rollout is that of an earlier revision
	case state.Phase == rollout.Complete, state.Phase == rollout.Progressing && !isApproved && (state.Wave == firstWave || !state.Begun):
		return hold{}
	case state.Phase == rollout.Progressing:
		// Without a first version OLM installs nothing, so the rollout would never end.
		return hold{holds: true, exceptFirst: true, reason: v1alpha1.ReasonWaveHeld,
			message: fmt.Sprintf(" is not taken before all waves have passed, because wave %s has begun or a person has approved it", state.Wave)}
	case approvals.Retry.After(state.RetrySeen):
		return hold{}
	}
	key := keyOf(w)
	return hold{holds: true, reason: v1alpha1.ReasonRolloutStopped, message: fmt.Sprintf(" is taken only after `%s --retry`, because the rollout has failed",
		messages.ApproveCommand(key.Kind, key.Namespace, key.Name))}
}
