// SPDX-License-Identifier: Apache-2.0

// Package clockskew measures how far the clock of an API server differs from the clock of this process.
//
// Words: the *skew* is how far the server's clock is ahead; it is negative if that clock is behind. An *Estimate* is
// the skew of one API server, according to its newest response.
//
// The collector compares the present time with times that programs on the member wrote into objects. The collector may
// run on another machine, so it has to compare by the member's clock. The manager reports on the MemberCluster if the
// clocks of host and member differ too much.
package clockskew
