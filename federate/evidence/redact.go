// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Redacted returns a copy of evidence in which the logs, the messages and the reasons are redacted. No text is longer than the schema allows.
// The collector redacts them, too. But a collector of another vendor, or a modified one, may not.
//
// Redaction takes much longer than decoding. So the host calls Redacted only for evidence that it is about to write into a MemberReport, and
// not for each Delivery that it reads.
func Redacted(e *v1alpha1.Evidence) v1alpha1.Evidence {
	out := v1alpha1.Evidence{Events: slices.Clone(e.Events), Containers: slices.Clone(e.Containers)}
	for i := range out.Events {
		e := &out.Events[i]
		e.Reason, e.Message = health.Tidy(e.Reason, MaxReason), health.Tidy(e.Message, MaxMessage)
	}
	for i := range out.Containers {
		c := &out.Containers[i]
		c.Reason = health.Tidy(c.Reason, MaxReason)
		c.Log, c.PreviousLog = tail(health.Redact(c.Log), len(c.Log)), tail(health.Redact(c.PreviousLog), len(c.PreviousLog))
	}
	return out
}
