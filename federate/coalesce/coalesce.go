// SPDX-License-Identifier: Apache-2.0

package coalesce

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/health"
)

const (
	// RepeatEvery is the shortest time between two writes about one wrapper that only repeat what the host has. A wrapper has two kinds of
	// such writes, those of its status and those of its MemberReports. So together they are fewer than one write in ten seconds.
	RepeatEvery = 30 * time.Second
	// rewordedEvery is the shortest time between such a write and a later write that changes the meaning of messages.
	rewordedEvery = 10 * time.Second
)

// Change is how much of a change is new. The zero value is no change.
type Change int

// The kinds of changes; the package comment defines them.
const (
	News Change = 1 + iota
	Reworded
	Repeat
)

// OfStatus returns how much of the change from one status of a wrapper to the next is new.
func OfStatus(before, next *v1alpha1.WrapperStatus) Change {
	switch {
	case equality.Semantic.DeepEqual(before, next):
		return 0
	case !equality.Semantic.DeepEqual(withoutMessages(before), withoutMessages(next)):
		return News
	}
	for i := range next.Clusters {
		if name := next.Clusters[i].Name; !isSameText(name, before.Clusters[i].Message, next.Clusters[i].Message) {
			return Reworded
		}
	}
	for i := range next.Conditions {
		if !isSameText("", before.Conditions[i].Message, next.Conditions[i].Message) {
			return Reworded
		}
	}
	return Repeat
}

// withoutMessages returns a copy of a status without the messages of its lines and conditions.
func withoutMessages(s *v1alpha1.WrapperStatus) v1alpha1.WrapperStatus {
	out := *s
	out.Clusters, out.Conditions = slices.Clone(s.Clusters), slices.Clone(s.Conditions)
	for i := range out.Clusters {
		out.Clusters[i].Message = ""
	}
	for i := range out.Conditions {
		out.Conditions[i].Message = ""
	}
	return out
}

func isSameText(member, before, next string) bool {
	return before == next || cause.Normalize(member, health.WithoutLog(before)) == cause.Normalize(member, health.WithoutLog(next))
}

// Writes remembers the writes about one wrapper. The zero value has seen none.
type Writes struct {
	// repeated is the time of the last write that was not News; zero before the first one.
	repeated time.Time
}

// Wait returns how long the manager has to wait before it may write a change; 0 if it may write now.
func (w *Writes) Wait(c Change, now time.Time) time.Duration {
	every := RepeatEvery
	switch c {
	case Reworded:
		every = rewordedEvery
	case Repeat:
	default:
		return 0
	}
	if w.repeated.IsZero() {
		return 0
	}
	return min(max(w.repeated.Add(every).Sub(now), 0), every) // the clock of the host may go back
}

// Wrote records that the manager wrote a change.
func (w *Writes) Wrote(c Change, now time.Time) {
	if c == Reworded || c == Repeat {
		w.repeated = now
	}
}
