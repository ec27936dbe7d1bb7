// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var (
	// old and changed are the objects before and after the update. Only the contents differ, so the update needs no intent.
	old, changed = two, map[string]string{"a": "2", "b": "2"}
	oldOnEast    = []*desiredState{{objects: old, members: east}}
	changing     = []*desiredState{{objects: changed, members: east}}
)

// withoutIntent kill the manager during a push without an intent. Before the next manager starts, the author changes the
// wrapper. Until the manager writes its record, the Delivery does not show that the push wrote new contents.
var withoutIntent = map[string]scenario{
	"then no further change follows": {
		before: oldOnEast, during: changing,
		dead: changing, steady: true, omits: true,
	},
	"then the contents are changed once more": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"a": "3", "b": "3"}, members: east}}, steady: true, omits: true,
	},
	"then an object is dropped": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"b": "3"}, members: east}}, steady: true, omits: true,
	},
	"then an object is dropped, and the other is reverted": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"b": "1"}, members: east}}, steady: true, omits: true,
	},
	"then an object is renamed": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"c": "2", "b": "3"}, members: east}}, steady: true, omits: true,
	},
	"then an object is moved to another wrapper": {
		before: oldOnEast, during: changing,
		dead:  []*desiredState{{objects: map[string]string{"b": "3"}, members: east}, {wrapper: other, objects: one, members: east}},
		omits: true, patient: true,
	},
	"then the wrapper is moved to another member": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: changed, members: west}}, steady: true, omits: true,
	},
	"then the update is reverted under drift: Repair": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true,
	},
	"then the update is reverted under drift: Report": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true, report: true,
	},
	"then the wrapper is deleted": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{nil}, steady: true, omits: true,
	},
	"then the wrapper is deleted in the foreground": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{nil}, steady: true, omits: true, foreground: true,
	},
	"then the wrapper is made again with the old contents": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true, unmadeDead: true,
	},
	"then the wrapper is made again with the new contents": {
		before: oldOnEast, during: changing,
		dead: changing, steady: true, omits: true, unmadeDead: true,
	},
	"then the wrapper leaves the member with KeepAll, and comes back in a later revision with DeleteAll": {
		before: []*desiredState{{objects: old, members: both, onDelete: v1alpha1.KeepAll}},
		during: []*desiredState{{objects: changed, members: both, onDelete: v1alpha1.KeepAll}},
		dead:   []*desiredState{{objects: changed, members: west, onDelete: v1alpha1.KeepAll}}, steady: true, omits: true,
		stays: func(death fleetState) fleetState { return fleetState{"east": {Objects: death["east"].Objects}} },
		later: []*desiredState{{objects: map[string]string{"a": "3"}, members: both, onDelete: v1alpha1.DeleteAll}},
		staysLater: func(death fleetState) fleetState {
			dropped := slices.DeleteFunc(slices.Clone(death["east"].Objects), func(o string) bool { return strings.HasPrefix(o, "a=") })
			return fleetState{"east": {Objects: dropped}}
		},
	},
	"the member refuses the write of the record, and then an object is dropped": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"b": "3"}, members: east}}, steady: true, omits: true, refuses: refusesRecords,
	},
	"the member refuses the write of the record, and then the update is reverted": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true, refuses: refusesRecords,
	},
	"the next manager leads while a request of the dead one is still on its way": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"a": "3"}, members: east}}, steady: true, omits: true, late: true,
	},
	"the next manager leads while a request of the dead one is still on its way, and the update is reverted under drift: Report": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true, report: true, late: true,
	},
	"a member is unreachable": {
		before: []*desiredState{{objects: old, members: both}}, during: []*desiredState{{objects: changed, members: both}},
		dead: []*desiredState{{objects: map[string]string{"a": "3", "b": "2"}, members: both}}, steady: true, omits: true, away: true,
	},
	"the host is restored from a backup that is older than the update": {
		before: oldOnEast, during: changing,
		restored: true, steady: true, omits: true,
	},
}

// isWithoutIntent reports whether the first write to a member among calls is one of a ConfigMap, and not of the Delivery.
func isWithoutIntent(calls []string) bool {
	for _, call := range calls {
		if !strings.HasPrefix(call, http.MethodGet) && (strings.Contains(call, "/configmaps/") || strings.Contains(call, "/deliveries")) {
			return strings.Contains(call, "/configmaps/")
		}
	}
	return false
}

func TestTheManagerMayDieBetweenAnApplyAndItsRecord(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	f.mortal = func(t *testing.T, e end) *life { return born(t, manager, f.manager, e) }
	f.tryAll(t, maps.Clone(withoutIntent))
}
