// SPDX-License-Identifier: Apache-2.0

// Package member is the wire to the members: one lean connection each, and a probe that knows at any
// time whether it leads somewhere.
//
// Words: the *fleet* is all members the host knows. A *Conn* is the connection to one of them; it
// stands behind multicluster-runtime's cluster interface, so that a standard controller could engage
// with it. A *probe* reads the member's Membership: it proves in one request that the API server
// answers, that it answers to us, and that it is the cluster that was joined. A *probe result* is what
// the last probe found.
//
// Why it is so: a controller-runtime cluster costs 584 KiB and 13 goroutines for each member before
// it has done anything, and KubeFed saturated on less. A Conn has no informer factory, no event
// broadcaster and no discovery for built-in kinds: how these are served is the same on all members, and is
// compiled in. Asking a Conn for a cache is a fault and says so.
//
// A watch is no proof of life: a server does not cut it when the token dies, and a half-open
// connection delivers silence. That is why only the probe decides whether a member is usable.
package member
