// SPDX-License-Identifier: Apache-2.0

// Package recover is `hostctl recover`. It lists the Deliveries on members that do not fit the host's wrappers, and lets a person choose:
// either the host's state counts, or the members' state. It reads only the host: status.orphans of MemberClusters, and the lines in
// the status of wrappers. It writes the choice as an Approval, on which the manager acts.
//
// Words. A *finding* is a Delivery on one member that does not fit the host's wrappers. There are two kinds. It is an *orphan* if the
// Delivery's wrapper does not exist on the host, or is not placed on the member. It is *held* if the manager writes nothing for
// the wrapper to this member until a person decides.
package recover
