// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

func TestAMemberThatChangesItsMessagesAllTheTimeCausesFewWrites(t *testing.T) {
	for name, test := range map[string]struct {
		objects int
		every   time.Duration
	}{
		"one object, five times a second": {1, 200 * time.Millisecond},
		"sixteen objects each second":     {16, time.Second},
		"sixteen objects each 11 seconds": {16, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "hostile")
			x, most := s.connect("hostile"), 0
			for n, at := 0, time.Duration(0); at < time.Minute; n, at = n+1, at+test.every {
				d := s.ill("it crashes", "log")
				object, evidence := d.Status.Objects[0], d.Status.Evidence[0]
				d.Status.Objects, d.Status.Evidence = nil, nil
				for i := range test.objects {
					object.Name = fmt.Sprint("web-", i)
					evidence.Name, object.Message = object.Name, "it crashes: "+letters(n)
					d.Status.Objects, d.Status.Evidence = append(d.Status.Objects, object), append(d.Status.Evidence, evidence)
				}
				x.Put(d)
				s.pass()
				most = max(most, len(s.reports()))
				s.clock.Step(test.every)
			}
			if writes := s.requests["POST"] + s.requests["PATCH"] + s.requests["DELETE"]; writes < 20 || writes > 80 {
				t.Errorf("%d writes in a minute: %v", writes, s.requests)
			}
			if most > 20 {
				t.Errorf("%d reports at a time", most)
			}
			s.list("hostile", "") // all is well: the deletes only wait
			for range 30 {
				s.clock.Step(max(time.Second, s.pass()))
			}
			s.check()
		})
	}
}

func TestTheLimitOfAllWrappers(t *testing.T) {
	now := clocktesting.NewFakeClock(now)
	loop := &Reconciler{clock: now, known: make(map[deliveries.Key]*knownReports), limits: newWriteLimits(now)}
	try := func(wrapper string, writes int) bool {
		key := deliveries.Key{Kind: v1alpha1.KindFederated, NamespacedName: types.NamespacedName{Name: wrapper}}
		return loop.limits.take(loop.knownOf(key, types.UID(wrapper)), writes) == 0
	}
	busy := func() (n int) {
		for i := range 50 {
			for range 5 {
				if try(fmt.Sprint("busy-", i), 1) {
					n++
				}
			}
		}
		return n
	}
	if n := busy(); n != processBurst {
		t.Errorf("%d writes at once", n)
	}
	if n := busy(); n != 0 {
		t.Errorf("%d more", n)
	}
	now.Step(time.Second)
	if n := busy(); n != processRate {
		t.Errorf("%d after 1 s", n)
	}
	if try("new", 2) {
		t.Error("the new wrapper does not wait")
	}
	waited := 0
	for ; !try("new", 2) && waited < 60; waited++ { // each of the 50 others has one turn of one write
		busy()
		now.Step(time.Second)
	}
	if waited > 6 {
		t.Errorf("the new wrapper waited %d s", waited)
	}
}
