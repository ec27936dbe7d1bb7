// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/coalesce"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// The loop may find a report after the manager has read the Delivery, and before it has read the whole list.
func TestADeliveryThatIsReadBeforeTheListIsCompleteIsRead(t *testing.T) {
	s := newSite(t, "east")
	s.list("east", "it crashes")
	s.pass()
	s.restart(DefaultMemory)
	d := s.ill("it fails otherwise", "log")
	x := s.connect("east")
	s.loop.store.Changed(x, deliveries.Change{Name: d.Name, Is: deliveries.Summarise(d), Evidence: deliveries.Evidence{Objects: d.Status.Evidence}})
	s.pass()
	s.loop.store.Listed(x, map[string]int64{d.Name: 1})
	s.clock.Step(time.Second)
	s.pass()
	s.check("it fails otherwise: east, sample of east")
}

func TestAReportThatAnotherClientReplacedIsForgotten(t *testing.T) {
	s := newSite(t, "east")
	s.list("east", "it crashes")
	s.pass()
	id := v1alpha1.Identity(s.wrapper)
	known := s.loop.knownOf(deliveries.KeyOf(id), id.UID)
	p := &reconciliation{Reconciler: s.loop, key: deliveries.KeyOf(id), id: id, now: now, known: known}
	for name, is := range known.byName {
		is.uid = "another"
		if err := p.patch(t.Context(), name, is, &s.reports()[0].Status, coalesce.News); err != nil || p.again != time.Second {
			t.Errorf("again in %s, error %v", p.again, err)
		}
	}
	if len(known.byName) != 0 {
		t.Errorf("still known: %v", known.byName)
	}
}

func TestASetThatHasNoMemoryForAnyMemberIsDropped(t *testing.T) {
	s := newSite(t, "east")
	s.restart(1)
	s.list("east", "it crashes")
	if n := len(s.loop.store.evidence.sets); n != 0 {
		t.Errorf("%d sets", n)
	}
}
