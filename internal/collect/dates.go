// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"net/http"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/clockskew"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// dates is the station of every request to the member that learns what time it is there, and how much the member bears.
type dates struct {
	next  http.RoundTripper
	clock clock.PassiveClock
	limit *inflight.Limit
	skew  clockskew.Estimate
}

var _ http.RoundTripper = &dates{}

// RoundTrip implements http.RoundTripper.
func (d *dates) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := d.clock.Now()
	resp, err := d.next.RoundTrip(req)
	if err != nil {
		d.limit.Failed(req, err)
		return nil, err
	}
	if d.limit.Answered(req, resp, asked) {
		klog.FromContext(req.Context()).Info("The member has too much to do (429): less is looked at at once", "atOnce", d.limit.Places())
	}
	d.skew.Observe(resp.Header, asked, d.clock.Now())
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (d *dates) WrappedRoundTripper() http.RoundTripper { return d.next }

// now is the time by the member's clock.
func (d *dates) now() time.Time { return d.clock.Now().Add(d.skew.Ahead()) }
