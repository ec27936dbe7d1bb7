// SPDX-License-Identifier: Apache-2.0

// Package report turns what is known of a wrapper on its members into the wrapper's status: a line for
// each member, counts, and the conditions Placed, Pushed, Healthy and Ready.
//
// Words: a *line* is what the status says of one member. Ready is a summary: every placed member is at
// the update revision and healthy. Reconciling and Stalled exist only while they are true, which is
// what kstatus reads.
//
// Why it is so: the report is a pure function of a snapshot, so that the controller writes what
// `hostctl` would show, and a status can be tested without a cluster. Missing knowledge is never good
// news: a member that was not heard from is Unknown, not healthy. Lines are bounded (500, the troubled
// first), because a status that grows with the fleet is what saturates a host.
package report
