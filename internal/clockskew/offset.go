// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"net/http"
	"time"
)

// Offset returns how far the clock of an API server is ahead of the clock of this process; a negative value means
// behind. date is the header Date of a response. asked and answered are the times of the request and of the response,
// by the clock of this process. known is false if date is absent or invalid.
//
// A Date has whole seconds, and the server may have set it at any moment between the request and the response. So the true
// value lies in a range. Offset returns the value of the range that is nearest to zero. So it returns zero if the clocks
// may agree, even if the response took long.
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
