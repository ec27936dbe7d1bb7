// SPDX-License-Identifier: Apache-2.0

// Package placement decides which members get the objects of a wrapper.
//
// Words: a member is *placed* when the present spec names or selects it. It is *leaving* when an earlier decision
// placed it, the present decision does not, and its objects may still be there. It is *withheld* when an earlier
// decision placed it, the present spec does not select it, and its removal has to wait. The manager serves a withheld
// member like a placed one. It is *released* when a person approved that the manager does not wait for the removal from
// it. A name is *not found* when no MemberCluster has that name.
//
// The manager writes the decision to status.placement before it pushes anything, and removes objects only if a written
// decision says so. That is why the decision also lists the members that the wrapper is leaving. A member without a
// MemberCluster is neither placed nor leaving: the manager cannot reach it, and an unjoin leaves its objects where they
// are. The manager never removes objects because information is missing.
//
// Removals are limited, because one wrong selector or label would remove a wrapper from a whole fleet within a second.
// Within an hour the manager begins only a limited number of removals. The others wait for an Approval, or until the
// hour is over. The decision also records the removals of the last hour, so that a restart of the manager does not
// raise the limit.
//
// The package is pure and deterministic: equal inputs and an equal time give the same decision, whatever the order of
// the members.
package placement
