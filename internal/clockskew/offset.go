// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"net/http"
	"time"
)

// Offset is how far the clock of an API server is ahead of the clock of this process, negative if it is behind. date is
// the header Date of an answer. asked and answered are the times of the request and of the answer, by the clock of this
// process. A Date has whole seconds, and an answer takes time, so these bound a range. The result is the value of that
// range that is nearest to zero. So clocks that agree give zero, even if the member is slow. known is false if the
// answer has no Date.
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
