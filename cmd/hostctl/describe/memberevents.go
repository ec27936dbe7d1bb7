// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
)

// maxMemberEvents is the largest number of a member's events that a cause shows.
const maxMemberEvents = 3

// newestEvents returns the newest events of a report, the newest first. Their times are at most the time of the report.
func newestEvents(r *v1alpha1.MemberReport) []v1alpha1.ObservedEvent {
	found := slices.Clone(r.Status.Events)
	for i := range found {
		found[i].LastTime = evidence.SeenOf(r, &found[i])
	}
	slices.SortStableFunc(found, func(a, b v1alpha1.ObservedEvent) int {
		return cmp.Or(b.LastTime.Compare(a.LastTime.Time), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Message, b.Message))
	})
	return found[:min(len(found), maxMemberEvents)]
}

// events writes the newest events of the member about the object of a cause.
func (e *causeEvidence) events(p *screen.Page, now time.Time) {
	if e == nil || len(e.Events) == 0 {
		return
	}
	p.Add("", "   ", 3, "the newest events on "+e.Cluster+":")
	for i := range e.Events {
		event := &e.Events[i]
		addEvent(p, now, 5, event.LastTime, event.Reason, event.Count, event.Kind+" "+event.Name+": "+event.Message)
	}
}

// addEvent writes an event, after as many spaces as the parameter indent says.
func addEvent(p *screen.Page, now time.Time, indent int, seen metav1.Time, reason string, count int32, text string) {
	head := fmt.Sprintf("%s%5s  ", strings.Repeat(" ", indent), screen.Age(now, seen))
	times := ""
	if count > 1 {
		times = fmt.Sprintf(" (%d times)", count)
	}
	p.Add("", head, len(head), reason+times+": "+text)
}
