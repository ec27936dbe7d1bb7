// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// traceGeneration begins the trace of the wrapper's present generation if the status has not observed that generation
// yet. Only of the first generation the host knows when it was written, because the cache has no managedFields.
func (p *reconciliation) traceGeneration() {
	if p.tracer == nil || p.wrapper.WrapperStatus().ObservedGeneration == p.wrapper.GetGeneration() {
		return
	}
	var lag time.Duration
	if p.wrapper.GetGeneration() == 1 {
		lag = p.now.Sub(p.wrapper.GetCreationTimestamp().Time)
	}
	p.tracer.Begin(v1alpha1.Identity(p.wrapper), lag)
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

// traceMembers records the states of the members whose spans are open. The lines of the status do not suffice: a status
// has at most 500.
func (p *reconciliation) traceMembers(snapshot *report.Input) {
	wrapper := v1alpha1.Identity(p.wrapper)
	if !p.tracer.Follows(wrapper) {
		return
	}
	for i := range snapshot.Members {
		if m := &snapshot.Members[i]; !m.Leaving && p.tracer.IsOpen(wrapper, m.Name) {
			line := report.Line(m, nil, p.now)
			p.tracer.Observed(wrapper, m.Name, line.State, line.Reason)
		}
	}
}

// tracePublished ends the trace of the wrapper's generation if, by the stored status, nothing more follows from it.
func (p *reconciliation) tracePublished(stored *v1alpha1.WrapperStatus) {
	if p.tracer == nil {
		return
	}
	if why := outcomeOf(stored, p.invalid != ""); why != "" {
		p.tracer.End(v1alpha1.Identity(p.wrapper), why)
	}
}

// outcomeOf returns why the work for a generation is done, by its status; "" while it is not.
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
