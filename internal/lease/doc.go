// SPDX-License-Identifier: Apache-2.0

// Package lease decides when a manager may write to members: whether the manager is the leader, and until when it surely
// stays the leader.
//
// Words. The *age* of a lease is the time since its last accepted renewal began. The *fence* is the rule that stops a
// manager's writes before another manager can take the lease. A *predecessor* is the process that held the lease before
// this process. A *proof* is a value that at most one running process has, for example the uid of its pod: the containers
// of a pod run one after the other. To *take back* is to take a predecessor's lease before it expires.
//
// Why it is so. Members do not know the lease, so they cannot refuse the writes of an old leader. The old leader has
// to stop by itself, by its own clocks, before the earliest time at which another manager may begin. Timing holds the
// numbers and their arithmetic. Client-go's elector does the election. Guard passes the elector's requests on to the
// API server, because it has to record when each renewal began.
package lease
