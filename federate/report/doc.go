// SPDX-License-Identifier: Apache-2.0

// Package report computes the status of a wrapper: a line for each member, counts, and the conditions Placed, Pushed,
// Healthy and Ready.
//
// Words: a *line* is the entry of one member in status.clusters. Ready is the summary: True if every placed member has
// the update revision and is healthy. Reconciling and Stalled are present only while they are True, because kstatus
// expects that.
//
// The status is a pure function of a snapshot, so tests need no cluster. Missing information never counts as healthy: a
// member that the manager has not read is Unknown. The status has at most 500 lines, because a status that grows with
// the fleet would overload the host. Lines of members in trouble come first.
package report
