// SPDX-License-Identifier: Apache-2.0

// Package placement decides on which members a wrapper's objects are to stand.
//
// Words: a member is *placed* when the present spec names or selects it, *leaving* when an earlier
// decision placed it and this one does not, and its objects may still stand there. A name is *not
// found* when no MemberCluster has it.
//
// Why it is so: the decision is written down before anything is pushed, and only a written decision
// ever removes anything, so leaving is a state of the decision and not a difference that somebody
// works out later. A member whose MemberCluster is gone is in neither list: nobody can reach it, and
// unjoining leaves workloads where they are. Nothing is ever removed because something is unknown.
//
// The package is pure and deterministic: the same members in any order give the same decision.
package placement
