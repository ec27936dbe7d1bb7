// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/federate"
)

// station is what every request to the member passes: it learns what time it is there.
type station struct {
	next  http.RoundTripper
	clock clock.PassiveClock
	// ahead is by how much the member's clock was ahead of ours in its last answer.
	ahead atomic.Int64
}

var _ http.RoundTripper = &station{}

// RoundTrip implements http.RoundTripper.
func (s *station) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := s.clock.Now()
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if ahead, known := federate.ClockOffset(resp.Header.Get("Date"), asked, s.clock.Now()); known {
		s.ahead.Store(int64(ahead))
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (s *station) WrappedRoundTripper() http.RoundTripper { return s.next }

// now is the time by the member's clock.
func (s *station) now() time.Time { return s.clock.Now().Add(time.Duration(s.ahead.Load())) }
