// SPDX-License-Identifier: Apache-2.0

package steps

// Outcome is what a step did to its object.
type Outcome string

// The outcomes of a step, in the form in which they are printed after the step's name.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
	Removed    Outcome = "removed"
	// Checked is the outcome of a step that changes no object itself. Step.What is then the whole text.
	Checked Outcome = "checked"
	// Noted marks a remark for the user. It is not the outcome of a step.
	Noted Outcome = "noted"
)

// Step is one line of the report: an object that the join checked or changed.
type Step struct {
	Outcome Outcome
	// What names the object: "member eu-1: roles of the host (core, storage)".
	What string
	// Note is further information for the user; "" for none.
	Note string
}

// String returns the step in words: "member eu-1: namespace fairlead-system created".
func (s Step) String() string {
	words := s.What
	if s.Outcome != Checked && s.Outcome != Noted {
		words += " " + string(s.Outcome)
	}
	return words + s.note()
}

func (s Step) note() string {
	if s.Note == "" {
		return ""
	}
	return " (" + s.Note + ")"
}

// Reporter is called once for every step, as soon as the step is done. In a dry run, Created, Configured and Removed are
// the outcomes that a real run would have.
type Reporter func(Step)

// Tally counts the outcomes of the objects that one step writes.
type Tally struct{ created, configured, unchanged, removed int }

// Add counts one outcome.
func (t *Tally) Add(o Outcome) {
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

// Outcome returns the outcome of the whole step.
func (t *Tally) Outcome() Outcome {
	switch {
	case t.configured+t.removed == 0 && t.created == 0:
		return Unchanged
	case t.configured+t.removed+t.unchanged == 0:
		return Created
	}
	return Configured
}

// Removed returns how many objects the step removed.
func (t *Tally) Removed() int { return t.removed }
