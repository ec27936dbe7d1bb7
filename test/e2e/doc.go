// SPDX-License-Identifier: Apache-2.0

// Package e2e is the end-to-end suite: sentences about a fleet, checked on real control planes.
//
// Words. The *fleet* is a host and three members with OLM, in a sandbox of the suite's own; `fleet.Host` and
// `fleet.Member("member-1")` are clients of their administrators. A *shop* is a spec's own namespace.
//
// Why it is so: bringing the fleet up takes a minute and a half, so all specs share it, run one after the other, and keep
// out of each other's way by names of their own; what a spec does to a member as a whole (an outage, an unjoin) it undoes.
// Nothing sleeps: a spec waits for the condition that it is about. What must *not* happen is proved by something later
// that has happened (another object arrived, the heartbeat came), or counted in the API servers' audit logs.
package e2e
