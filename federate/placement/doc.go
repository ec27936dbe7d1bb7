// SPDX-License-Identifier: Apache-2.0

// Package placement decides which members hold a wrapper's objects.
//
// Words: a member is *placed* when the present spec names or selects it. It is *leaving* when an earlier decision
// placed it, this one does not, and its objects may still be there. It is *withheld* when it was placed, is no longer
// selected, and may not be left yet; the manager serves it like any other until then. It is *released* when a person
// told the manager not to wait for its removal. A name is *not found* when no MemberCluster has it.
//
// Why it is so: the manager writes the decision down before it pushes anything, and only a written decision removes
// objects. So leaving is a state of the decision, and not a difference that is computed later. A member whose
// MemberCluster is gone is in neither list: the manager cannot reach it, and unjoining leaves workloads where they
// are. The manager never removes objects because information is missing.
//
// Removals are paced because one wrong selector, or one label, takes a wrapper off a whole fleet in a second. Within
// an hour the manager begins only a limited number of removals; a person has to approve the rest. The decision also
// records the removals of the hour, so that a restart does not raise the limit.
//
// The package is pure and deterministic: the same members in any order, at the same time, give the same
// decision.
package placement
