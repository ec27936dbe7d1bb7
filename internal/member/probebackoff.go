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

// nextProbe returns the time until the next probe of a member. unsettled is 0 if the last probe found the member settled
// (see ProbeResult.settled). Otherwise it counts the probes since the member was last settled, or since it last became
// usable or unusable. The time doubles with each of these probes, up to RetryInterval.
func nextProbe(unsettled int) time.Duration {
	if unsettled == 0 {
		return ProbeInterval
	}
	wait := time.Second << min(unsettled-1, 10)
	return min(wait, RetryInterval)
}
