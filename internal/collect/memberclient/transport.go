// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"net/http"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/clockskew"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// transport measures two values with every answer of the member: the offset of its clock, and its capacity.
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
		t.limit.Failed(req, err)
		return nil, err
	}
	if t.limit.Answered(req, resp, asked) {
		klog.FromContext(req.Context()).Info("The member answers 429 (too many requests): the collector makes fewer requests to it at the same time", "atOnce", t.limit.Places())
	}
	t.skew.Observe(resp.Header, asked, t.clock.Now())
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// now returns the time of the member's clock.
func (t *transport) now() time.Time { return t.clock.Now().Add(t.skew.Ahead()) }
