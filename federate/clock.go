// SPDX-License-Identifier: Apache-2.0

package federate

import "time"

// httpDate is the layout of the header Date (RFC 9110, section 5.6.7), always in GMT.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

// ClockOffset is by how much the clock of whoever answered a request is ahead of ours, negative where it is behind, from
// the header Date of the answer and our own times of asking and of being answered. Of all that it may be it is what is
// nearest to none: a Date says whole seconds, and an answer takes its time, so that clocks that agree, and a member that is
// slow, always come to zero. known is false where the answer has no Date.
func ClockOffset(date string, asked, answered time.Time) (ahead time.Duration, known bool) {
	said, err := time.Parse(httpDate, date)
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
