// SPDX-License-Identifier: Apache-2.0

package push

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// trace adds a pass that has ended to the trace of its member. tracer is nil if tracing is off. outcome is the zero
// value if err is not nil. The trace has neither the outcome's message nor the error's text, because both may quote the
// member.
func trace(tracer *tracing.Tracer, memberName string, desired *plan.Desired, began time.Time, outcome plan.Outcome, err error, counts apply.Counts) {
	if tracer == nil || desired.Leaving() {
		return
	}
	pass := tracing.Pass{Began: began, Objects: counts.Objects, Result: resultOf(outcome, err), Reason: outcome.Reason}
	if err != nil {
		pass.Reason = v1alpha1.ReasonPushError
	}
	for _, n := range counts.Rejected {
		pass.Rejected += n
	}
	tracer.Applied(desired.Wrapper, memberName, desired.Revision, pass)
}
