// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const (
	// versionInterval is the shortest time between two versions that the manager takes for a wrapper. Each version
	// becomes a revision. Without the limit, a member that reports another version each second could fill the host with
	// revisions. The first version of a Subscription does not wait.
	versionInterval = 30 * time.Second
	// maxVersionMessage is the largest length of the message of a Subscription in status.upgrade, in bytes.
	maxVersionMessage = 512
)

// takeVersions takes new versions for Subscriptions with approve: Latest, from the reports of the members of the first
// wave. It writes the versions to the status before any step acts on them. The step revise then writes a revision with
// these versions, and the manager brings it to the members like any other revision.
func (p *reconciliation) takeVersions(ctx context.Context) error {
	spec, status := p.wrapper.WrapperSpec(), p.wrapper.WrapperStatus()
	p.upgrade = upgrade.Carry(&spec.Upgrade, &status.Upgrade)
	if len(p.upgrade.Subscriptions) == 0 {
		return nil
	}
	first, err := p.firstWave()
	if err != nil {
		return nil //nolint:nilerr // rollOut compiles the same waves, and reports the error
	}
	return p.takeFrom(ctx, &first)
}

// takeFrom chooses a version for each Subscription from the reports of the first wave. If the manager may take the
// version now, takeFrom writes it to the status. If not, the status gets the reason and a message.
func (p *reconciliation) takeFrom(ctx context.Context, first *firstWave) error {
	status := p.wrapper.WrapperStatus()
	hold, taken, last := p.holdOf(first.name), false, newest(&status.Upgrade)
	for i := range p.upgrade.Subscriptions {
		s := &p.upgrade.Subscriptions[i]
		if first.unread {
			was := status.Upgrade.Subscriptions // a manager that has just started keeps the earlier reason and message
			if at := slices.IndexFunc(was, func(w v1alpha1.SubscriptionVersion) bool { return w.Name == s.Name }); at >= 0 {
				s.Reason, s.Message = was[at].Reason, was[at].Message
			}
			continue
		}
		choice := upgrade.Choose(s.CSV, first.reportsOn(s.Name, s.CSV == ""))
		switch {
		case choice.CSV == "":
			s.Reason, s.Message = choice.Reason, health.Clean(choice.Message, maxVersionMessage)
		case first.empty != "" && s.CSV != "":
			s.Reason, s.Message = v1alpha1.ReasonWaveHeld, fmt.Sprintf("%s is not taken while wave %s has no placed cluster: no cluster would try this version before the others",
				health.Clean(choice.CSV, maxVersionMessage/2), first.empty)
		case p.mayTake(s, hold, last):
			*s, taken = v1alpha1.SubscriptionVersion{Name: s.Name, CSV: choice.CSV, Since: metav1.NewTime(p.now.Truncate(time.Second))}, true
		case hold.reason != "":
			s.Reason, s.Message = hold.reason, health.Clean(choice.CSV+hold.message, maxVersionMessage)
		}
	}
	if !taken {
		return nil
	}
	before := status.Upgrade
	base := p.object().DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	status.Upgrade = p.upgrade
	if err := p.client.Status().Patch(ctx, p.object(), client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the versions of %s: %w", p.key, err)
	}
	p.writes.noteWritten(p.wrapper)
	p.recordVersions(&before, &p.upgrade)
	return nil
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

// newest returns when the manager last took a version for any Subscription; zero if it has never taken one.
func newest(status *v1alpha1.UpgradeStatus) (at time.Time) {
	for i := range status.Subscriptions {
		at = latest(at, status.Subscriptions[i].Since.Time)
	}
	return at
}

// mayTake reports whether the manager may take a version for Subscription s now. last is when the manager last took a
// version for any Subscription. If the manager only has to wait for a time, mayTake sets versionsAgain to the end of
// it.
func (p *reconciliation) mayTake(s *v1alpha1.SubscriptionVersion, h hold, last time.Time) bool {
	due := p.now
	if s.CSV != "" {
		due = last.Add(versionInterval)
	}
	if h.holds && (!h.exceptFirst || s.CSV != "") {
		if h.reason != "" {
			return false
		}
		due = latest(due, p.now.Add(time.Second))
	}
	if !due.After(p.now) {
		return true
	}
	if p.versionsAgain.IsZero() || due.Before(p.versionsAgain) {
		p.versionsAgain = due
	}
	return false
}

// holdOf returns why the manager takes no version now. firstWave is the name of the first wave with a placed member. A
// new version makes a new revision, and the rollout of a new revision begins at the first wave. So the manager takes no
// version while a later wave changes: frequent versions would restart the rollout each time, and the last waves would
// never change. After a failed rollout the manager takes a version only after an Approval that allows Retry.
func (p *reconciliation) holdOf(firstWave string) hold {
	spec, status := p.wrapper.WrapperSpec(), p.wrapper.WrapperStatus()
	if spec.Suspend == v1alpha1.SuspendRollout || spec.Suspend == v1alpha1.SuspendAll {
		return hold{holds: true, reason: v1alpha1.ReasonSuspended, message: fmt.Sprintf(" is not taken while spec.suspend is %s", spec.Suspend)}
	}
	if !spec.Rollout.IsPaced() {
		return hold{}
	}
	state := stateOf(status.Rollout)
	// A person has approved the wave that comes next. Another version would begin another rollout, for which that
	// Approval does not count.
	isApproved := !state.Begun && slices.Contains(p.rolloutApprovals(&state).Waves, state.Wave)
	switch {
	case status.ObservedGeneration != p.wrapper.GetGeneration() || state.Revision != status.UpdateRevision:
		return hold{holds: true} // the state of the rollout is that of an earlier revision
	case state.Phase == rollout.Complete, state.Phase == rollout.Progressing && !isApproved && (state.Wave == firstWave || !state.Begun):
		return hold{}
	case state.Phase == rollout.Progressing:
		// Without a first version OLM installs nothing, so the rollout would never end.
		return hold{holds: true, exceptFirst: true, reason: v1alpha1.ReasonWaveHeld,
			message: fmt.Sprintf(" is taken when all waves have passed: wave %s has begun, or a person has approved it", state.Wave)}
	case p.rolloutApprovals(&state).Retry.After(state.RetrySeen):
		return hold{}
	}
	return hold{holds: true, reason: v1alpha1.ReasonRolloutStopped, message: fmt.Sprintf(" is taken after `%s --retry`, because the rollout has failed",
		messages.ApproveCommand(p.key.Kind, p.key.Namespace, p.key.Name))}
}

// firstWave is the first wave that has a placed member, with the reports of its members. Without waves it has all
// placed members.
type firstWave struct {
	name string
	// empty is the name of the first wave of spec.rollout if no member is placed in that wave; "" otherwise. If it is
	// set, the manager takes only the first version of each Subscription, so that OLM can install the operator.
	empty string
	// unread is true if the manager has not read one of the members since it started.
	unread bool
	// members has the report of each member about its Subscriptions.
	members []memberVersions
}

// memberVersions is the report of one member about its Subscriptions. unjudged is true if the member's collector has
// not judged the present objects yet.
type memberVersions struct {
	name     string
	unjudged bool
	versions []v1alpha1.ObservedSubscription
}

// reportsOn returns the members' reports about one Subscription. If the manager cannot use the report of a member yet,
// reportsOn adds a report without versions for that member. For the first version of a Subscription, that includes each
// report from before the member got the target Latest: it may describe another channel or package.
func (f *firstWave) reportsOn(subscription string, firstVersion bool) (reports []upgrade.Report) {
	for i := range f.members {
		m := &f.members[i]
		at := slices.IndexFunc(m.versions, func(s v1alpha1.ObservedSubscription) bool { return s.Name == subscription })
		switch {
		case at >= 0 && firstVersion && m.versions[at].TargetCSV != v1alpha1.TargetLatest:
			reports = append(reports, upgrade.Report{Member: m.name})
		case at >= 0:
			reports = append(reports, upgrade.Report{Member: m.name, Installed: m.versions[at].InstalledCSV, Offered: m.versions[at].OfferedCSV})
		case m.unjudged:
			reports = append(reports, upgrade.Report{Member: m.name})
		}
	}
	return reports
}

// firstWave collects the reports of the members of the first wave. It takes the placed members from the status, because
// the step place runs later. It leaves out a member that the manager cannot reach, that an Approval skips, or whose
// collector is silent.
func (p *reconciliation) firstWave() (firstWave, error) {
	first, order, plan := firstWave{}, -1, (*rollout.Plan)(nil)
	spec, status := p.wrapper.WrapperSpec(), p.wrapper.WrapperStatus()
	var skipped []string
	if spec.Rollout.IsPaced() {
		var err error
		if plan, err = rollout.Compile(rollout.StrategyOf(&spec.Rollout)); err != nil {
			return first, err
		}
		state := stateOf(status.Rollout)
		skipped = p.rolloutApprovals(&state).Skip
	}
	var names []string
	for _, name := range status.Placement.Clusters {
		mc := p.members[name]
		if mc == nil {
			continue
		}
		wave, waveName := 0, ""
		if plan != nil {
			wave, waveName = plan.WaveOf(selection.Member{Name: name, Labels: mc.Labels})
		}
		if order < 0 || wave < order {
			order, first.name, names = wave, waveName, nil
		}
		if wave == order && !slices.Contains(skipped, name) {
			names = append(names, name)
		}
	}
	if order > 0 {
		first.empty = plan.FirstWave()
	}
	for _, name := range names {
		p.readVersions(&first, name)
	}
	return first, nil
}

// readVersions adds one member's report to first. It adds nothing if the member cannot report.
func (p *reconciliation) readVersions(first *firstWave, name string) {
	record := p.deliveries.Record(p.key, name)
	reach, seen := p.reachability(name, record), record.Summary
	switch {
	case !reach.Known:
		first.unread = true
		return
	case !reach.Usable, isCollectorSilent(p.members[name]), seen == nil, seen.Wrapper.UID != p.wrapper.GetUID(), seen.Rendering == "":
		return
	}
	m := memberVersions{name: name, unjudged: seen.Judged && (seen.Status == nil || seen.Status.ObservedRendering != seen.Rendering)}
	if seen.Status != nil {
		m.versions = seen.Status.Subscriptions
	}
	first.members = append(first.members, m)
}
