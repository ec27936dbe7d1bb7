// SPDX-License-Identifier: Apache-2.0

// Package placement decides on which members a wrapper's objects are to stand.
//
// Words: a member is *placed* when the present spec names or selects it, *leaving* when an earlier
// decision placed it and this one does not, and its objects may still stand there. It is *withheld* when
// it was placed, is not selected any more, and may not be left yet; it is served like any other until
// then. It is *released* when a person said not to wait until it is left. A name is *not found* when no
// MemberCluster has it.
//
// Why it is so: the decision is written down before anything is pushed, and only a written decision
// ever removes anything, so leaving is a state of the decision and not a difference that is
// computed later. A member whose MemberCluster is gone is in neither list: the manager cannot reach it, and
// unjoining leaves workloads where they are. Nothing is ever removed because something is unknown.
//
// Removals are paced because one slip in a selector, or one label, takes a wrapper off a whole fleet in a
// second: within an hour so many may begin and no more, and what is past that is a person's to allow. What
// the hour has seen stands in the decision too, so that a restart gives no new room.
//
// The package is pure and deterministic: the same members in any order, at the same time, give the same
// decision.
package placement
