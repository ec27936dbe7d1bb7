// SPDX-License-Identifier: Apache-2.0

package faults

// scenario is a history around one death: the state before it, the work during which the program died, and the changes of users while it
// was dead.
type scenario struct {
	before, during, dead []*desiredState
	// changeByHand, if set, changes objects of ours right after the states of during.
	changeByHand func(*author)
	// takeOver, if set, is an object of ours on east that another owner replaces just before the point's call. The call then goes through
	// and the program lives on, but its knowledge is outdated.
	takeOver string
	// report sets spec.drift to Report, so that no repair of drift hides work that the manager left unfinished.
	report bool
	// inTheWay, if set, is an object of another owner on east, from the beginning.
	inTheWay string

	// foreground deletes the wrapper with propagation policy Foreground.
	foreground bool
	// unmadeBefore and unmadeDead delete the wrapper at once, without the manager, before the states of during or of dead. The next
	// desired state then makes a wrapper with another uid.
	unmadeBefore, unmadeDead bool
	// restored puts the host back to its state before during. The states of dead follow.
	restored bool
	// refuses makes the members refuse writes of the Delivery until the program is dead: all of them, or those that follow the first
	// write of an object.
	refuses refusal
	// away cuts off east while the program is dead, until the next life has served west.
	away bool
	// late delivers the last request of the dead program just before the next life's first write to the same API server.
	late bool
	// patient moves the clock of the last life on, because it waits for minutes before it tries again.
	patient bool
	// steady makes the test check that every object that exists at the death keeps its uid as long as it exists.
	steady bool
	// leaves has the objects that the states of during leave on members for good.
	leaves fleetState
	// stays, if set, returns what the states of dead leave on members for good, given the state at the death.
	stays func(fleetState) fleetState
	// omits makes the test check that the update writes no intent: the manager applies the objects before it writes the Delivery.
	omits bool
	// later are desired states that follow after the members have those of dead. staysLater is stays for them.
	later      []*desiredState
	staysLater func(fleetState) fleetState
}

// refusal is the part of the writes of a Delivery that a member refuses. The zero value is none.
type refusal int

const (
	_ refusal = iota
	refusesRecords
	refusesAll
)

var (
	both  = []string{"east", "west"}
	first = &desiredState{objects: map[string]string{"a": "1", "b": "1", "c": "1"}, members: both}
)

var scenarios = map[string]scenario{
	"create": {
		during: []*desiredState{first},
	},
	"create under drift: Report": {
		during: []*desiredState{first},
		report: true,
	},
	"update under drift: Report": {
		before: []*desiredState{first},
		during: []*desiredState{{objects: map[string]string{"a": "2", "b": "1", "d": "1"}, members: both}},
		report: true,
	},
	"update with one dropped, one added and one refused, then reverted": {
		before: []*desiredState{first},
		during: []*desiredState{{objects: map[string]string{"a": "2", "b": refused, "d": "1"}, members: both}},
		dead:   []*desiredState{first},
	},
	"update with one dropped and one added": {
		before: []*desiredState{first},
		during: []*desiredState{{objects: map[string]string{"a": "2", "b": "1", "d": "1"}, members: both}},
	},
	"re-place before the first push ended": {
		during: []*desiredState{{objects: first.objects, members: []string{"east"}}},
		dead:   []*desiredState{{objects: first.objects, members: []string{"west"}}},
	},
	"delete": {
		before: []*desiredState{first},
		during: []*desiredState{nil},
	},
	"delete during the first push": {
		during: []*desiredState{first},
		dead:   []*desiredState{nil},
	},
	"leave and come back": {
		before: []*desiredState{first},
		during: []*desiredState{{objects: first.objects, members: []string{"west"}}},
		dead:   []*desiredState{{objects: map[string]string{"a": "2", "c": "1"}, members: both}},
	},
	"repair an object that another client changed, and one that it deleted": {
		before:       []*desiredState{first},
		changeByHand: func(a *author) { a.changeByHand("a", "by hand"); a.changeByHand("b", "") },
	},
	"repair an object during its update": {
		before:       []*desiredState{first},
		during:       []*desiredState{{objects: map[string]string{"a": "2", "b": "2"}, members: both}},
		changeByHand: func(a *author) { a.changeByHand("a", "by hand") },
		dead:         []*desiredState{{objects: map[string]string{"a": "3", "b": "2"}, members: both}},
	},
	"another owner's object has the name": {
		during:   []*desiredState{first},
		inTheWay: "b",
	},
	"another owner replaces an object during its update": {
		before:   []*desiredState{first},
		during:   []*desiredState{{objects: map[string]string{"a": "1", "b": "1", "c": "2"}, members: both}},
		takeOver: "c",
	},
	"another owner replaces an object that is dropped": {
		before:   []*desiredState{first},
		during:   []*desiredState{{objects: map[string]string{"a": "1", "b": "1"}, members: both}},
		takeOver: "c",
	},
	"another owner replaces an object while the wrapper is deleted": {
		before:   []*desiredState{first},
		during:   []*desiredState{nil},
		takeOver: "c",
	},
}
