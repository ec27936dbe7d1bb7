// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Estimate is how far the clock of one API server is ahead of the clock of this process, according to the server's
// newest response. The zero value is no skew. It is safe for concurrent use.
type Estimate struct{ ahead atomic.Int64 }

// Observe updates the estimate from the header Date of a response. Without that header nothing changes. asked and
// answered are the times of the request and of the response, by the clock of this process.
func (e *Estimate) Observe(header http.Header, asked, answered time.Time) {
	if ahead, known := Offset(header.Get("Date"), asked, answered); known {
		e.ahead.Store(int64(ahead))
	}
}

// Ahead returns the skew; it is negative if the server's clock is behind.
func (e *Estimate) Ahead() time.Duration { return time.Duration(e.ahead.Load()) }
