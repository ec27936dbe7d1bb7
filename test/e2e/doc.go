// SPDX-License-Identifier: Apache-2.0

// Package e2e is the end-to-end suite. Its specs are sentences about a fleet, checked on real control planes.
//
// Words. The *fleet* is a host and three members with OLM, in the suite's own sandbox. `fleet.Host` and `fleet.Member("member-1")`
// are clients with an administrator's rights. A *shop* is a spec's own namespace.
//
// Why it is so: bringing the fleet up takes a minute and a half, so all specs share it. They run one after the other, and use names of
// their own so that they do not affect each other. A spec undoes its changes to a whole member (an outage, an unjoin). Specs never
// sleep: each waits for the condition that it is about. To prove that something does *not* happen, a spec waits for a later event
// (another object arrived, the heartbeat came), or counts requests in the API servers' audit logs.
package e2e
