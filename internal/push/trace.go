// SPDX-License-Identifier: Apache-2.0

package push

import (
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// trace records a pass that ended in the trace of its member. outcome is the zero value if err is not nil. The messages
// of both stay out, because they may quote the member.
func (q *memberQueue) trace(desired *plan.Desired, began time.Time, outcome plan.Outcome, err error, counts apply.Counts) {
	if q.pusher.host.Tracer == nil || desired.Leaving() {
		return
	}
	pass := tracing.Pass{Began: began, Objects: counts.Objects, Result: resultOf(outcome, err), Reason: outcome.Reason}
	if err != nil {
		pass.Reason = v1alpha1.ReasonPushError
	}
	for _, n := range counts.Rejected {
		pass.Rejected += n
	}
	q.pusher.host.Tracer.Applied(desired.Wrapper, q.conn.Name(), desired.Revision, pass)
}
