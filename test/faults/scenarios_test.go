// SPDX-License-Identifier: Apache-2.0

package faults

// scenario is a history around one death.
type scenario struct {
	// The members reach the states of scenario.before. The program dies while it works on the states of scenario.during. Users
	// write the states of scenario.dead before the next program starts.
	before, during, dead []*desiredState
	// changeByHand, if set, changes the wrapper's objects on a member right after the last state of scenario.during.
	changeByHand func(*author)
	// takeOver, if set, is the name of an object of the wrapper on east. At the point, the program does not die: another
	// owner replaces the object just before the call, so what the program has read of the object is outdated.
	takeOver string
	// If report is true, spec.drift is Report. Under Repair, the repair of drift could hide that the manager forgot some work.
	report bool
	// inTheWay, if set, is the name of an object of another owner that exists on east from the start.
	inTheWay string

	// If foreground is true, the author deletes the wrapper with propagation policy Foreground.
	foreground bool
	// If unmadeBefore is true, the test deletes the wrapper without the manager before users write the states of scenario.during.
	// If unmadeDead is true, it does so before they write the states of scenario.dead. The next desired state then creates a
	// wrapper with another uid.
	unmadeBefore, unmadeDead bool
	// If restored is true, the test restores the wrapper on the host after the death, to its state before the first state of
	// scenario.during. Then users write the states of scenario.dead.
	restored bool
	// refuses tells which writes of the Delivery the members refuse until the program is dead.
	refuses refusal
	// If away is true, east is unreachable from the death until the next life has served west.
	away bool
	// If late is true, the last request of the dead program is delayed: the API server gets it just before the next life's first
	// write to that server.
	late bool
	// If patient is true, the test advances the clock of the last life, which would else wait for minutes before it tries again.
	patient bool
	// If steady is true, the test fails when an object that existed at the death is deleted and created again.
	steady bool
	// leaves are the objects that stay on members when the wrapper leaves these members in the states of scenario.during.
	leaves fleetState
	// stays, if set, returns the objects that stay on members when the wrapper leaves these members in the states of
	// scenario.dead. Its argument is the state at the death.
	stays func(fleetState) fleetState
	// If omits is true, the update of this scenario needs no intent. The test fails if the manager writes the Delivery before
	// the objects.
	omits bool
	// If shares is true, the pass of the first state of scenario.during takes until the other wrappers wait, so that they share the write
	// of their intents. The test fails if wrapper web does not.
	shares bool
	// Users write the states of scenario.later when the members have the last state of scenario.dead. For these states,
	// staysLater, if set, replaces the function stays. Its argument is the state at the death.
	later      []*desiredState
	staysLater func(fleetState) fleetState
}

// refusal tells which writes of a Delivery a member refuses: none (0), all, or only the records. A record is a write after the
// first write of object a.
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
	"update that drops an object, adds one and has one that is refused, then reverted": {
		before: []*desiredState{first},
		during: []*desiredState{{objects: map[string]string{"a": "2", "b": refused, "d": "1"}, members: both}},
		dead:   []*desiredState{first},
	},
	"update that drops an object and adds one": {
		before: []*desiredState{first},
		during: []*desiredState{{objects: map[string]string{"a": "2", "b": "1", "d": "1"}, members: both}},
	},
	"move to another member before the first push ended": {
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
	"leave a member and come back": {
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
	"another owner has an object of the same name": {
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
