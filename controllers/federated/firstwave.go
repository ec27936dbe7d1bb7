// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/observed"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// firstWave is the first wave that has a placed member, with the reports of its members. Without waves it has all
// placed members.
type firstWave struct {
	name string
	// empty is the name of the first wave of spec.rollout if no member is placed in that wave; "" otherwise. If it is
	// set, the manager takes only the first version of each Subscription, so that OLM can install the operator.
	empty string
	// unread is true if the manager has not yet read all members of the wave since it started.
	unread bool
	// members has the report of each member about its Subscriptions.
	members []memberVersions
	// absent has the members whose reports do not count, each with the reason, as text for a message.
	absent []string
}

// memberVersions is the report of one member about its Subscriptions. unjudged is true if the member's collector has
// not judged the present objects yet.
type memberVersions struct {
	name     string
	unjudged bool
	versions []v1alpha1.ObservedSubscription
}

// reportsOn returns the members' reports about one Subscription, and the members whose reports do not count. If the manager cannot use
// the report of a member yet, reportsOn adds a report without versions for that member. For the first version of a Subscription, it
// does the same for a member whose report is from before the member got the target Latest: such a report may describe another
// channel or package.
func (f *firstWave) reportsOn(subscription string, firstVersion bool) (reports []upgrade.Report, absent []string) {
	absent = slices.Clone(f.absent)
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
		default:
			absent = append(absent, m.name+" (its collector reports nothing about the Subscription)")
		}
	}
	return reports, absent
}

// firstWaveOf returns the first wave with the reports of its members. It takes the placed members from the status, because
// the step place runs later. It leaves out a member that the manager cannot reach, that an Approval skips, or whose
// collector is silent. plan is nil if the wrapper has no rollout.
func firstWaveOf(plan *rollout.Plan, skipped []string, o observed.Reader) (first firstWave) {
	order := -1
	var names []string
	for _, name := range o.Wrapper.WrapperStatus().Placement.Clusters {
		mc := o.Members[name]
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
		if wave == order {
			names = append(names, name)
		}
	}
	if order > 0 {
		first.empty = plan.FirstWave()
	}
	for _, name := range names {
		if slices.Contains(skipped, name) {
			first.absent = append(first.absent, name+" (an Approval skips it)")
			continue
		}
		record := o.Deliveries.Record(o.Key, name)
		first.add(name, record.Summary, o.Reachability(name, record), o.Wrapper.GetUID(), observed.IsCollectorSilent(o.Members[name]))
	}
	return first
}

// add adds one member's report, or the reason why its report does not count. seen is the member's Delivery; nil if the
// manager knows none. uid is that of the wrapper. silent is true if the member's collector is silent.
func (f *firstWave) add(name string, seen *deliveries.Summary, reach report.Reachability, uid types.UID, silent bool) {
	switch {
	case !reach.Known:
		f.unread = true
		return
	case !reach.Usable:
		f.absent = append(f.absent, name+" (the manager cannot reach it)")
		return
	case silent:
		f.absent = append(f.absent, name+" (its collector is silent)")
		return
	case seen == nil, seen.Wrapper.UID != uid, seen.Rendering == "":
		f.absent = append(f.absent, name+" (it does not have the wrapper yet)")
		return
	}
	m := memberVersions{name: name, unjudged: seen.Judged && (seen.Status == nil || seen.Status.ObservedRendering != seen.Rendering)}
	if seen.Status != nil {
		m.versions = seen.Status.Subscriptions
	}
	f.members = append(f.members, m)
}
