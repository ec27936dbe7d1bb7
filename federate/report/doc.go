// SPDX-License-Identifier: Apache-2.0

// Package report computes a wrapper's status from its state on its members: a line for each member, counts, and the
// conditions Placed, Pushed, Healthy and Ready.
//
// Words: a *line* is the part of the status about one member. Ready is a summary: every placed member is at the
// update revision and healthy. Reconciling and Stalled exist only while they are true, as kstatus reads them.
//
// Why it is so: the report is a pure function of a snapshot, so tests need no cluster. Missing information never counts as healthy: a member without an answer is
// Unknown. The number of lines is bounded (500, those with trouble first), because a status that grows with the fleet
// overloads a host.
package report
