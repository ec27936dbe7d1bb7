// SPDX-License-Identifier: Apache-2.0

package member

import "time"

const (
	// ProbeInterval is the time between two probes of a member that answers.
	ProbeInterval = 25 * time.Second
	// RetryInterval is the longest time between two probes of a member that does not answer, or whose collector has
	// never written a heartbeat. A member that answers again is served again after this time and the time of one probe,
	// at the latest.
	RetryInterval = 10 * time.Second
)

// nextProbe is the backoff of a member that fails: the time until the next probe. unsettled is the number of
// consecutive probes after which the member was not settled (see ProbeResult.settled).
func nextProbe(unsettled int) time.Duration {
	if unsettled == 0 {
		return ProbeInterval
	}
	wait := time.Second << min(unsettled-1, 10)
	return min(wait, RetryInterval)
}
