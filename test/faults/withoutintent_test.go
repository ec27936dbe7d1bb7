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
	// old is the settled state of the scenarios below, and changed the update that needs no intent: the contents of both objects.
	old, changed = two, map[string]string{"a": "2", "b": "2"}
	oldOnEast    = []*desiredState{{objects: old, members: east}}
	changing     = []*desiredState{{objects: changed, members: east}}
)

// withoutIntent interrupt a push that writes no intent, and then change the desired state, before the manager is back. Until
// the record, the Delivery says nothing of the new contents.
var withoutIntent = map[string]scenario{
	"contents are changed": {
		before: oldOnEast, during: changing,
		dead: changing, steady: true, omits: true,
	},
	"contents are changed once more": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"a": "3", "b": "3"}, members: east}}, steady: true, omits: true,
	},
	"an object is dropped": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"b": "3"}, members: east}}, steady: true, omits: true,
	},
	"an object is dropped, and the other is reverted": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"b": "1"}, members: east}}, steady: true, omits: true,
	},
	"an object is renamed": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"c": "2", "b": "3"}, members: east}}, steady: true, omits: true,
	},
	"an object moves to another wrapper": {
		before: oldOnEast, during: changing,
		dead:  []*desiredState{{objects: map[string]string{"b": "3"}, members: east}, {wrapper: other, objects: one, members: east}},
		omits: true, patient: true,
	},
	"the wrapper moves to another member": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: changed, members: west}}, steady: true, omits: true,
	},
	"it is reverted under drift: Repair": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true,
	},
	"it is reverted under drift: Report": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true, report: true,
	},
	"the wrapper is deleted": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{nil}, steady: true, omits: true,
	},
	"the wrapper is deleted in the foreground": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{nil}, steady: true, omits: true, foreground: true,
	},
	"the wrapper is made again with the old contents": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true, unmadeDead: true,
	},
	"the wrapper is made again with the new contents": {
		before: oldOnEast, during: changing,
		dead: changing, steady: true, omits: true, unmadeDead: true,
	},
	"the member is left under KeepAll, and then served at a later revision under DeleteAll": {
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
	"the member refuses the record, and then an object is dropped": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"b": "3"}, members: east}}, steady: true, omits: true, refuses: refusesRecords,
	},
	"the member refuses the record, and then it is reverted": {
		before: oldOnEast, during: changing,
		dead: oldOnEast, steady: true, omits: true, refuses: refusesRecords,
	},
	"another manager leads while a request of the first is under way": {
		before: oldOnEast, during: changing,
		dead: []*desiredState{{objects: map[string]string{"a": "3"}, members: east}}, steady: true, omits: true, late: true,
	},
	"a member is away": {
		before: []*desiredState{{objects: old, members: both}}, during: []*desiredState{{objects: changed, members: both}},
		dead: []*desiredState{{objects: map[string]string{"a": "3", "b": "2"}, members: both}}, steady: true, omits: true, away: true,
	},
	"the host is restored": {
		before: oldOnEast, during: changing,
		restored: true, steady: true, omits: true,
	},
}

// isWithoutIntent reports whether the first write to a member is of an object, and not of the Delivery.
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
