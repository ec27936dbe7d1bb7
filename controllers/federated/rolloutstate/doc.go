// SPDX-License-Identifier: Apache-2.0

// Package rolloutstate has what a rollout of a wrapper needs to know besides the members: the state that the wrapper's
// status stores, the Approvals that count, and a memory of how long members have been in their states.
//
// Package rollout decides on values, and knows neither statuses nor Approvals. This package converts them.
package rolloutstate
