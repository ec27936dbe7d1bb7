// SPDX-License-Identifier: Apache-2.0

package member

import "time"

const (
	// ProbeInterval is the time between two probes of a member that answers.
	ProbeInterval = 25 * time.Second
	// RetryInterval is the longest time between two probes of a member that does not answer, or whose collector has never
	// written a heartbeat. When such a member answers again, the manager can push to it after at most RetryInterval and
	// the time of one probe.
	RetryInterval = 10 * time.Second
)

// nextProbe returns the time until the next probe of a member. unsettled is the number of probes in a row that found the
// member not settled (see ProbeResult.settled). The time doubles with each of them, up to RetryInterval.
func nextProbe(unsettled int) time.Duration {
	if unsettled == 0 {
		return ProbeInterval
	}
	wait := time.Second << min(unsettled-1, 10)
	return min(wait, RetryInterval)
}
