// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"net/http"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/clockskew"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// transport learns two things from each answer of the member: how far the member's clock is ahead of the collector's
// clock, and how many concurrent requests the member can take.
type transport struct {
	next  http.RoundTripper
	clock clock.PassiveClock
	limit *inflight.Limit
	skew  clockskew.Estimate
}

var _ http.RoundTripper = &transport{}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		if !boundedread.IsLog(req) { // only the kubelet of one node does not answer
			t.limit.Failed(req, err)
		}
		return nil, err
	}
	if t.limit.Answered(req, resp, asked) {
		klog.FromContext(req.Context()).Info("The member answered 429 (too many requests), so the collector makes fewer passes at the same time", "atOnce", t.limit.Places())
	}
	t.skew.Observe(resp.Header, asked, t.clock.Now())
	return resp, nil
}

// WrappedRoundTripper gives client-go access to the next transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// now returns the present time by the member's clock.
func (t *transport) now() time.Time { return t.clock.Now().Add(t.skew.Ahead()) }
