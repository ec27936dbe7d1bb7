// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"net/http"
	"time"
)

// Offset is how far the clock of an API server is ahead of ours, negative where it is behind. It is computed from the header
// Date of an answer and from our own times of the request and the answer. A Date has whole seconds, and an answer takes time,
// so these bound a range. The result is the value of that range that is nearest to zero: clocks that agree come to zero, even
// where the member is slow. known is false where the answer has no Date.
func Offset(date string, asked, answered time.Time) (ahead time.Duration, known bool) {
	said, err := time.Parse(http.TimeFormat, date)
	if err != nil {
		return 0, false
	}
	least, most := said.Sub(answered), said.Add(time.Second).Sub(asked)
	switch {
	case least > 0:
		return least, true
	case most < 0:
		return most, true
	}
	return 0, true
}
