// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

func TestWhyNoRequestsAreWritten(t *testing.T) {
	type pair struct {
		desired *Desired
		seen    *deliveries.Summary
		last    Outcome
	}
	noDelivery := &rules.Problem{Reason: v1alpha1.ReasonDeliveryNotFound,
		Message: "member east has no Delivery of the wrapper yet: the line of this member in the status of the wrapper says why"}
	held := func(reason string) *rules.Problem {
		return &rules.Problem{Reason: v1alpha1.ReasonPairHeld, Message: "the pair is Held (" + reason + "), so the manager writes nothing to member east"}
	}
	for name, test := range map[string]struct {
		change func(*pair)
		want   *rules.Problem
	}{
		"the member has the desired state":                   {func(*pair) {}, nil},
		"there is no desired state yet":                      {func(p *pair) { p.desired = nil }, nil},
		"there is neither state nor Delivery":                {func(p *pair) { p.desired, p.seen = nil, nil }, nil},
		"there is no Delivery":                               {func(p *pair) { p.seen = nil }, noDelivery},
		"there is no Delivery, and the wrapper is suspended": {func(p *pair) { p.seen, p.desired.Suspended = nil, true }, noDelivery},
		"the wrapper is suspended":                           {func(p *pair) { p.desired.Suspended = true }, held(v1alpha1.ReasonSuspended)},
		"the last pass found the pair held": {func(p *pair) {
			p.last = Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember}
		}, held(v1alpha1.ReasonHostBehindMember)},
		"the wrapper is suspended, and the last pass found the pair held": {func(p *pair) {
			p.desired.Suspended, p.last = true, Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember}
		}, held(v1alpha1.ReasonSuspended)},
		"the last pass did not succeed": {func(p *pair) {
			p.last = Outcome{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError}
		}, nil},
		"the Delivery is of an earlier wrapper of the name":        {func(p *pair) { p.seen.Wrapper.UID = "other" }, held(v1alpha1.ReasonWrapperReplaced)},
		"the Delivery is of a later generation than the host's":    {func(p *pair) { p.seen.Wrapper.Generation = 2 }, held(v1alpha1.ReasonHostBehindMember)},
		"the Delivery is of an earlier generation than the host's": {func(p *pair) { p.desired.Wrapper.Generation = 2 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pair{desired: desired(), seen: holding(), last: Outcome{Done: true}}
			test.change(p)
			if diff := cmp.Diff(test.want, WhyNoRequests("east", p.desired, p.seen, &p.last)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
