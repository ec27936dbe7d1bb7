// SPDX-License-Identifier: Apache-2.0

package join

// Outcome is what a step did to its object.
type Outcome string

// The outcomes of a step, as a person reads them behind its name.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
	Removed    Outcome = "removed"
	// Checked is the outcome of a step that only looks.
	Checked Outcome = "checked"
	// Noted is not an outcome but a remark for the person who reads the output.
	Noted Outcome = "noted"
)

// Step is one line of the report: an object that the join checked or changed.
type Step struct {
	Outcome Outcome
	// What names the object: "member eu-1: roles of the host (core, storage)".
	What string
	// Note is further information; it is often "".
	Note string
}

// Reporter receives every step as soon as it is done. In a dry run Created, Configured and Removed mean what a real
// run would do.
type Reporter func(Step)

// tally sums up the outcomes of the objects of one step.
type tally struct{ created, configured, unchanged, removed int }

func (t *tally) add(o Outcome) {
	switch o {
	case Created:
		t.created++
	case Configured:
		t.configured++
	case Removed:
		t.removed++
	default:
		t.unchanged++
	}
}

func (t *tally) outcome() Outcome {
	switch {
	case t.configured+t.removed == 0 && t.created == 0:
		return Unchanged
	case t.configured+t.removed+t.unchanged == 0:
		return Created
	}
	return Configured
}
