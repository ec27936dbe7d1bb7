// SPDX-License-Identifier: Apache-2.0

// Package clockskew measures how far the clock of an API server is from the clock of this process.
//
// Words: the *skew* is positive when the server's clock is ahead, negative when it is behind. An *Estimate* is the skew
// by the newest answer of one API server.
//
// Programs on the member write the times in the status of objects. The collector may run elsewhere, so it judges these
// times by the member's clock. The manager tells the on-call when the clocks of a member and the host differ.
package clockskew
