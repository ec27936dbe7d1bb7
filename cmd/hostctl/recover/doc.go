// SPDX-License-Identifier: Apache-2.0

// Package recover is `hostctl recover`. It lists Deliveries on members that no wrapper of the host explains, and lets a person
// choose the host's or the members' state. It reads only the host: status.orphans of MemberClusters, and the lines in the status of
// wrappers. hostctl writes the decision as an Approval, and the manager acts on it.
//
// Words. A *finding* is one such difference on one member. It is an *orphan* when no wrapper of the host accounts for the Delivery,
// and *held* when the manager waits for a decision before it writes there.
package recover
