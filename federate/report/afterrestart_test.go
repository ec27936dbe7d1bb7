// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestAStatusThatOnlyKnowsLess(t *testing.T) {
	listed := func(change func(*Member)) Member {
		return with(func(m *Member) { m.Listed, m.Tried = true, true; change(m) })
	}
	unheard := with(func(m *Member) { m.Reachability = Reachability{} })
	away := func(listed bool) Member {
		return with(func(m *Member) {
			m.Listed, m.Reachability = listed, Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable, Message: "no route"}
		})
	}
	well := listed(func(*Member) {})
	refused := listed(func(m *Member) {
		m.Held, m.Push = false, Push{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonInvalid, Message: "no"}
	})
	untried := with(func(m *Member) { m.Held, m.Listed = false, true })
	notEmpty := listed(func(m *Member) { m.Leaving, m.Push = true, Push{Reason: v1alpha1.ReasonNotEmpty, Message: "theirs"} })
	for name, test := range map[string]struct {
		before *Member // nil if the previous status has no line for the member
		is     Member
		edited bool
		want   bool
	}{
		"a member that was Healthy is not read yet":              {before: &well, is: unheard, want: true},
		"a member that was well does not answer the first probe": {before: &well, is: away(false), want: true},
		"a member that answered goes away":                       {before: &well, is: away(true)},
		"a member without a line is not read yet":                {is: unheard, want: true},
		"a member that was Unreachable is not read yet":          {before: new(away(true)), is: unheard, want: true},
		"a member that was away is still away":                   {before: new(away(true)), is: away(false)},
		"a member that was Unknown is still not read":            {before: &unheard, is: unheard},
		"a member that was well is well":                         {before: &well, is: well},
		"a member that was away is well":                         {before: new(away(true)), is: well},
		"a refusal is not found again yet":                       {before: &refused, is: untried, want: true},
		"a refusal is found again":                               {before: &refused, is: refused},
		"an edit corrects a refusal, and is not pushed yet":      {before: &refused, is: untried, edited: true},
		"a member that was Healthy lacks the desired state":      {before: &well, is: untried},
		"what holds a removal up is not found again yet": {before: &notEmpty, want: true,
			is: with(func(m *Member) { m.Leaving, m.Listed = true, true })},
		"a drift that could not be repaired is not tried again yet": {before: &refused, want: true, is: with(func(m *Member) {
			m.Listed, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftGone}})
		})},
		"an object has drifted meanwhile": {before: &well, is: with(func(m *Member) {
			m.Listed, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Drift: &v1alpha1.Drift{Kind: v1alpha1.DriftGone}})
		})},
		"an object has failed meanwhile": {before: &well, is: with(func(m *Member) {
			m.Listed, m.Status = true, judged(v1alpha1.ObjectStatus{Kind: "Job", Name: "j", Health: v1alpha1.Degraded})
		})},
	} {
		t.Run(name, func(t *testing.T) {
			in := build(test.is)
			if test.before != nil {
				status := Build(build(*test.before), now)
				in.Before = &status
			}
			if test.edited {
				in.Generation++
			}
			if got := KnowsLess(in, now.Add(time.Second)); got != test.want {
				t.Errorf("knows less: %v", got)
			}
		})
	}
}

// The manager has read one member and not the other. The whole status then knows less, because its conditions are about
// all members.
func TestAStatusKnowsLessWhereOneLineDoes(t *testing.T) {
	east, west := wellMember("east"), wellMember("west")
	status := Build(build(east, west), now)
	west.Reachability = Reachability{}
	east.Listed = true
	in := build(east, west)
	in.Before = &status
	if !KnowsLess(in, now) {
		t.Error("a status is published that calls a healthy member unknown")
	}
}
