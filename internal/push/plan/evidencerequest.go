// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// WhyNoRequests returns why the manager must not or cannot write requests for evidence into the Delivery of a pair; nil if it may. It also
// returns nil for a pair without a desired state: the manager then waits until the pair has one. seen is the summary of that Delivery, and
// last is the outcome of the last pass.
func WhyNoRequests(memberName string, desired *Desired, seen *deliveries.Summary, last *Outcome) *rules.Problem {
	if desired == nil {
		return nil // the loop of the wrappers has not decided yet
	}
	if seen == nil {
		return &rules.Problem{Reason: v1alpha1.ReasonDeliveryNotFound,
			Message: fmt.Sprintf("member %s has no Delivery of the wrapper yet: the line of this member in the status of the wrapper says why", memberName)}
	}
	reason := ""
	switch {
	case desired.Suspended:
		reason = v1alpha1.ReasonSuspended
	case last.State == v1alpha1.StateHeld:
		reason = last.Reason
	case seen.Wrapper.UID != desired.Wrapper.UID:
		reason = v1alpha1.ReasonWrapperReplaced
	case seen.Wrapper.Generation > desired.Wrapper.Generation:
		reason = v1alpha1.ReasonHostBehindMember
	default:
		return nil
	}
	return &rules.Problem{Reason: v1alpha1.ReasonPairHeld, Message: fmt.Sprintf("the pair is Held (%s), so the manager writes nothing to member %s", reason, memberName)}
}
