// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// other is the name of the second wrapper of a scenario.
const other = "api"

var (
	east = []string{"east"}
	west = []string{"west"}
	one  = map[string]string{"a": "1"}
	two  = map[string]string{"a": "1", "b": "1"}
	// adopted are objects that a wrapper can adopt: b has the content of the other owner's object b.
	adopted = map[string]string{"a": "1", "b": foreignContent}
	// update is an update from the state in the variable one: it changes the content of object a and adds object b.
	update = map[string]string{"a": "2", "b": "1"}
	// updated places the objects of the variable update on east. In most of these scenarios the manager dies during this update.
	updated = []*desiredState{{objects: update, members: east}}
	settled = []*desiredState{{objects: one, members: east}}
)

// interruptions kill the manager during a push. Before the next manager starts, the author changes the wrapper, so that the
// wrapper does not list some objects of that push. The next manager can remove these objects only if the Delivery lists
// them.
var interruptions = map[string]scenario{
	"an object is dropped before the first push ended": {
		during: []*desiredState{{objects: two, members: east}},
		dead:   settled, steady: true,
	},
	"an object is renamed before the update ended": {
		before: settled,
		during: updated,
		dead:   []*desiredState{{objects: map[string]string{"a": "2", "c": "1"}, members: east}}, steady: true,
	},
	"an object moves to another wrapper before the update ended": {
		before:  settled,
		during:  updated,
		dead:    []*desiredState{{objects: one, members: east}, {wrapper: other, objects: map[string]string{"b": "1"}, members: east}},
		patient: true,
	},
	"the wrapper is moved to another member before the update ended": {
		before: settled,
		during: updated,
		dead:   []*desiredState{{objects: update, members: west}}, steady: true,
	},
	"the update is reverted under drift: Repair": {
		before: settled,
		during: updated,
		dead:   settled, steady: true,
	},
	"the update is reverted under drift: Report": {
		before: settled,
		during: updated,
		dead:   settled, steady: true, report: true,
	},
	"the wrapper is deleted before the update ended": {
		before: settled,
		during: updated,
		dead:   []*desiredState{nil}, steady: true,
	},
	"the wrapper is deleted in the foreground before the update ended": {
		before: settled,
		during: updated,
		dead:   []*desiredState{nil}, steady: true, foreground: true,
	},
	"the wrapper is made again as it was before the update ended": {
		before: settled,
		during: updated,
		dead:   updated, steady: true, unmadeDead: true,
	},
	"the wrapper is made again without an object before the update ended": {
		before: settled,
		during: updated,
		dead:   settled, steady: true, unmadeDead: true,
	},
	"a claim is dropped before the first push ended": {
		during: []*desiredState{{objects: one, claims: []string{"data"}, members: east}},
		dead:   settled, steady: true,
		stays: func(death fleetState) fleetState {
			if slices.Contains(death["east"].Objects, "claim data of web") {
				return fleetState{"east": {Objects: []string{"claim data of web"}}}
			}
			return nil
		},
	},
	"an object is adopted, and then the wrapper is moved to another member": {
		inTheWay: "b",
		during:   []*desiredState{{objects: adopted, members: east, onConflict: v1alpha1.ConflictAdoptIfEqual}},
		dead:     []*desiredState{{objects: adopted, members: west, onConflict: v1alpha1.ConflictAdoptIfEqual}}, steady: true,
	},
	"the wrapper leaves a member with onDelete KeepAll, and comes back in a later revision with DeleteAll": {
		before: []*desiredState{{objects: two, members: both, onDelete: v1alpha1.KeepAll}},
		during: []*desiredState{{objects: two, members: west, onDelete: v1alpha1.KeepAll}},
		dead:   []*desiredState{{objects: map[string]string{"a": "2"}, members: both, onDelete: v1alpha1.DeleteAll}}, steady: true,
		leaves: fleetState{"east": {Objects: []string{"a=1 of web", "b=1 of web"}}},
		stays: func(death fleetState) fleetState {
			// As long as the Delivery lists object b, the wrapper has not left it for good, and DeleteAll removes it.
			if slices.ContainsFunc(death["east"].Entries, func(entry string) bool { return strings.HasPrefix(entry, "b ") }) {
				return nil
			}
			return fleetState{"east": {Objects: []string{"b=1 of web"}}}
		},
	},
	"an immutable object is replaced, and then dropped": {
		before: []*desiredState{{objects: two, members: east, replaced: true}},
		during: []*desiredState{{objects: map[string]string{"a": "1", "b": "2"}, members: east, replaced: true}},
		dead:   []*desiredState{{objects: one, members: east, replaced: true}},
	},
	"an object that a user deleted is made again, and then dropped": {
		before:       []*desiredState{{objects: two, members: east}},
		changeByHand: func(a *author) { a.changeByHand("b", "") },
		dead:         settled,
	},
	"a Delivery is taken over, and then the wrapper drops an object": {
		before: []*desiredState{{objects: two, members: east}},
		during: []*desiredState{{objects: two, members: east}},
		dead:   settled, steady: true, unmadeBefore: true,
	},
	"a Delivery is taken over, and then the wrapper is deleted": {
		before: []*desiredState{{objects: two, members: east}},
		during: []*desiredState{{objects: two, members: east}},
		dead:   []*desiredState{nil}, steady: true, unmadeBefore: true,
		stays: func(death fleetState) fleetState {
			// The Delivery on east may still name the earlier wrapper, if the manager died before it took the Delivery over.
			// Then the deletion of the new wrapper removes nothing on east.
			if slices.Contains(death["east"].Entries, "b Applied"+ofGone) {
				return fleetState{"east": death["east"]}
			}
			return nil
		},
	},
	"the member refuses the write of the record, and then the wrapper drops the object": {
		before: settled,
		during: updated,
		dead:   settled, steady: true, refuses: refusesRecords,
	},
	"the member refuses the write of the intent, and then the wrapper drops an object": {
		during: []*desiredState{{objects: two, members: east}},
		dead:   settled, steady: true, refuses: refusesAll,
	},
	"the next manager leads while a request of the dead one is still on its way": {
		before: settled,
		during: updated,
		dead:   []*desiredState{{objects: map[string]string{"a": "3"}, members: east}}, steady: true, late: true,
	},
	"a member is unreachable while another update replaces the first": {
		before: []*desiredState{{objects: one, members: both}},
		during: []*desiredState{{objects: update, members: both}},
		dead:   []*desiredState{{objects: map[string]string{"a": "3"}, members: both}}, steady: true, away: true,
	},
	"the host is restored from a backup that is older than the update": {
		before:   settled,
		during:   updated,
		restored: true, steady: true,
	},
	"the host is restored from a backup that is older than the wrapper": {
		during:   []*desiredState{{objects: two, members: east}},
		restored: true, steady: true,
		dead: []*desiredState{{wrapper: other, objects: map[string]string{"c": "1"}, members: east}},
		stays: func(death fleetState) fleetState {
			var is holding
			for _, o := range death["east"].Objects {
				is.Objects = append(is.Objects, strings.TrimSuffix(o, " of web")+ofGone)
			}
			for _, entry := range death["east"].Entries {
				is.Entries = append(is.Entries, entry+ofGone)
			}
			return fleetState{"east": is}
		},
	},
}

func TestTheManagerMayDieBeforeItsWorkIsChanged(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	f.mortal = func(t *testing.T, e end) *life { return born(t, manager, f.manager, e) }
	f.tryAll(t, maps.Clone(interruptions))
}
