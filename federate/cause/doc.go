// SPDX-License-Identifier: Apache-2.0

// Package cause finds in the status of a wrapper what is wrong, and orders it for the on-call person.
//
// Words: a *cause* is one problem, or one reason to wait, with all members that have it. A *line* is the entry of one member in
// status.clusters.
//
// Members have the same cause if their lines have the same reason, the same state, and messages that differ only in what every
// cluster chooses by itself: hashes in the names of pods, uids, addresses, times, counts, and the name of the member.
//
// Order: first what a person has to act on, then members that the manager cannot reach, then what the manager or the member works
// on, and then what waits. A reason that is known to cause another reason comes before that one, and is as urgent: a CRD that is missing
// only waits, but comes before the custom resource that the member refuses. Among equally urgent causes, those of the wrapper
// itself come first, and of the others those with more members. Whether a cause needs a person depends on its own state only.
//
// Why it is so: a line has only the most urgent reason of its member. So this package cannot prove that one cause follows from
// another. It orders them, and names a cause from which another one may follow.
package cause
