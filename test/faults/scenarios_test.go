// SPDX-License-Identifier: Apache-2.0

package faults

// scenario is a history around one death: the state before it, the work during which the program died, and the changes of users while it
// was dead.
type scenario struct {
	before, during, dead []*wish
	// harm, if set, changes objects of ours right after the wishes of during.
	harm func(*author)
	// usurp, if set, is an object of ours on east that another owner replaces just before the point's call. The call then goes through
	// and the program lives on, but its knowledge is outdated.
	usurp string
	// report sets spec.drift to Report, so that no repair of drift hides work that the manager left unfinished.
	report bool
	// inTheWay, if set, is an object of another owner on east, from the beginning.
	inTheWay string

	// foreground deletes the wrapper with propagation policy Foreground.
	foreground bool
	// unmade deletes the wrapper at once, without the manager, so that the next wish makes one with another uid: before the wishes of
	// during, or before those of dead.
	unmadeBefore, unmadeDead bool
	// restored puts the host back to its state before during. The wishes of dead follow.
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
	// steady says that every object that was there at the death keeps its uid as long as it is there.
	steady bool
	// leaves is what the wishes of during leave on members for good.
	leaves fleetState
	// stays, if set, returns what the wishes of dead leave on members for good, given the state at the death.
	stays func(fleetState) fleetState
	// omits says that the update needs no intent: the manager applies the objects before it writes the Delivery.
	omits bool
	// later are wishes after those of dead have come true, and staysLater is stays for them.
	later      []*wish
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
	first = &wish{objects: map[string]string{"a": "1", "b": "1", "c": "1"}, members: both}
)

var scenarios = map[string]scenario{
	"create": {
		during: []*wish{first},
	},
	"create where drift is only told": {
		during: []*wish{first},
		report: true,
	},
	"update where drift is only told": {
		before: []*wish{first},
		during: []*wish{{objects: map[string]string{"a": "2", "b": "1", "d": "1"}, members: both}},
		report: true,
	},
	"update with one dropped, one added and one refused, then reverted": {
		before: []*wish{first},
		during: []*wish{{objects: map[string]string{"a": "2", "b": refused, "d": "1"}, members: both}},
		dead:   []*wish{first},
	},
	"update with one dropped and one added": {
		before: []*wish{first},
		during: []*wish{{objects: map[string]string{"a": "2", "b": "1", "d": "1"}, members: both}},
	},
	"re-place before the first push ended": {
		during: []*wish{{objects: first.objects, members: []string{"east"}}},
		dead:   []*wish{{objects: first.objects, members: []string{"west"}}},
	},
	"delete": {
		before: []*wish{first},
		during: []*wish{nil},
	},
	"delete what is being made": {
		during: []*wish{first},
		dead:   []*wish{nil},
	},
	"leave and come back": {
		before: []*wish{first},
		during: []*wish{{objects: first.objects, members: []string{"west"}}},
		dead:   []*wish{{objects: map[string]string{"a": "2", "c": "1"}, members: both}},
	},
	"repair what somebody changed, and what somebody deleted": {
		before: []*wish{first},
		harm:   func(a *author) { a.harm("a", "spoilt"); a.harm("b", "") },
	},
	"repair what is being changed": {
		before: []*wish{first},
		during: []*wish{{objects: map[string]string{"a": "2", "b": "2"}, members: both}},
		harm:   func(a *author) { a.harm("a", "spoilt") },
		dead:   []*wish{{objects: map[string]string{"a": "3", "b": "2"}, members: both}},
	},
	"somebody's object is in the way": {
		during:   []*wish{first},
		inTheWay: "b",
	},
	"somebody takes the place of what is changed": {
		before: []*wish{first},
		during: []*wish{{objects: map[string]string{"a": "1", "b": "1", "c": "2"}, members: both}},
		usurp:  "c",
	},
	"somebody takes the place of what is dropped": {
		before: []*wish{first},
		during: []*wish{{objects: map[string]string{"a": "1", "b": "1"}, members: both}},
		usurp:  "c",
	},
	"somebody takes the place of what is deleted": {
		before: []*wish{first},
		during: []*wish{nil},
		usurp:  "c",
	},
}
