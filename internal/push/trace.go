// SPDX-License-Identifier: Apache-2.0

package push

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// beginTrace begins the trace of a pass. It returns nil if tracing is off, or if the wrapper is to leave the member.
func beginTrace(tracer *tracing.Tracer, memberName string, desired *plan.Desired) *tracing.Pass {
	if tracer == nil || desired.Leaving() {
		return nil
	}
	return tracer.BeginPass(desired.Wrapper, memberName, desired.Revision)
}

// endTrace adds a pass that has ended to the trace of its member. pass is nil if it is not traced. outcome is the zero
// value if err is not nil. The trace has neither the outcome's message nor the error's text, because both may quote the
// member.
func endTrace(pass *tracing.Pass, outcome plan.Outcome, err error, counts apply.Counts) {
	if pass == nil {
		return
	}
	result := tracing.PassResult{Objects: counts.Objects, Result: resultOf(outcome, err), Reason: outcome.Reason}
	if err != nil {
		result.Reason = v1alpha1.ReasonPushError
	}
	for _, n := range counts.Rejected {
		result.Rejected += n
	}
	pass.End(result)
}
