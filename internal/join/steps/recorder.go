// SPDX-License-Identifier: Apache-2.0

package steps

import "fmt"

// Recorder passes the steps of one join to a Reporter, and counts the steps that changed an object.
type Recorder struct {
	report  Reporter
	changes int
}

// NewRecorder returns a Recorder that calls report for every step. report may be nil.
func NewRecorder(report Reporter) *Recorder { return &Recorder{report: report} }

// Checked reports that the join has read and accepted an object.
func (r *Recorder) Checked(format string, args ...any) {
	r.tell(Step{Outcome: Checked, What: fmt.Sprintf(format, args...)})
}

// Note reports a remark for the user.
func (r *Recorder) Note(format string, args ...any) {
	r.tell(Step{Outcome: Noted, What: fmt.Sprintf(format, args...)})
}

// Done reports a step with its outcome. If the outcome is not Unchanged, Done counts the step as a change.
func (r *Recorder) Done(o Outcome, what, note string) {
	if o != Unchanged {
		r.changes++
	}
	r.tell(Step{Outcome: o, What: what, Note: note})
}

// Changes returns the number of steps that changed an object.
func (r *Recorder) Changes() int { return r.changes }

func (r *Recorder) tell(s Step) {
	if r.report != nil {
		r.report(s)
	}
}
