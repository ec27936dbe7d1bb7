// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// generationTrace is the trace of a wrapper's present generation. Without tracing its tracer is nil, and its methods do
// nothing.
type generationTrace struct {
	tracer  *tracing.Tracer
	wrapper v1alpha1.Wrapper
	now     time.Time
}

// begin begins the trace if the status has not observed the present generation yet. The trace has the time since the
// author's write only for the first generation: the time of a later write is in managedFields, which the cache drops.
func (t generationTrace) begin() {
	if t.tracer == nil || t.wrapper.WrapperStatus().ObservedGeneration == t.wrapper.GetGeneration() {
		return
	}
	var lag time.Duration
	if t.wrapper.GetGeneration() == 1 {
		lag = t.now.Sub(t.wrapper.GetCreationTimestamp().Time)
	}
	t.tracer.Begin(v1alpha1.Identity(t.wrapper), lag)
}

// observed records the states of the members whose spans are open. The lines of the status do not suffice: a status has
// at most 500.
func (t generationTrace) observed(snapshot *report.Input) {
	if t.tracer == nil {
		return
	}
	wrapper := v1alpha1.Identity(t.wrapper)
	if !t.tracer.Follows(wrapper) {
		return
	}
	for i := range snapshot.Members {
		if m := &snapshot.Members[i]; !m.Leaving && t.tracer.IsOpen(wrapper, m.Name) {
			state, reason := report.State(m)
			t.tracer.Observed(wrapper, m.Name, state, reason)
		}
	}
}

// published ends the trace if the stored status shows that the work for the generation is done.
func (t generationTrace) published(stored *v1alpha1.WrapperStatus, invalid bool) {
	if t.tracer == nil {
		return
	}
	if why := outcomeOf(stored, invalid); why != "" {
		t.tracer.End(v1alpha1.Identity(t.wrapper), why)
	}
}

// traced returns a step that is recorded in the trace of the wrapper's generation. Without tracing it is the step
// itself.
func (p *reconciliation) traced(name string, step func(context.Context) error) func(context.Context) error {
	if p.tracer == nil {
		return step
	}
	return func(ctx context.Context) error {
		began := p.clock.Now()
		err := step(ctx)
		counts := map[string]int{"placed": len(p.decision.Status.Clusters), "leaving": len(p.decision.Status.Leaving),
			"withheld": len(p.decision.Status.Withheld), "not_found": len(p.decision.Status.NotFound)}
		if name == tracing.SpanRender {
			counts = map[string]int{"rendered": len(p.desired), "refused": len(p.refusals)}
		}
		p.tracer.Step(v1alpha1.Identity(p.wrapper), tracing.Step{Name: name, Began: began, Revision: p.revision,
			Failed: err != nil || p.invalid != "", Counts: counts})
		return err
	}
}

// outcomeOf returns why the work for a generation is done, judged by the wrapper's status; "" while it is not done.
func outcomeOf(status *v1alpha1.WrapperStatus, invalid bool) tracing.Outcome {
	is := func(count *int32, of int32) bool { return count != nil && *count == of }
	counts := &status.Counts
	switch {
	case invalid:
		return tracing.Invalid
	case status.Rollout.State == v1alpha1.RolloutRolledBack:
		return tracing.RolledBack
	case counts.Placed == nil:
		return ""
	case *counts.Placed == 0:
		return tracing.NotPlaced
	case is(counts.Updated, *counts.Placed) && is(counts.Healthy, *counts.Placed):
		return tracing.Healthy
	}
	return ""
}
