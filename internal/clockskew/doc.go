// SPDX-License-Identifier: Apache-2.0

// Package clockskew measures how far the clock of an API server is from ours.
//
// Words: the *skew* is positive when the other clock is ahead, negative when it is behind. An *Estimate* is the skew by the
// newest answer of one API server.
//
// Times in the status of an object are written by programs of the member. The collector may run elsewhere, so it judges them
// by the member's clock. The host tells the on-call when the clocks of a member and the host differ.
package clockskew
