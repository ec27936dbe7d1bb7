// SPDX-License-Identifier: Apache-2.0

// Package member connects the host to its members. It keeps one small connection to each member, and regularly probes
// whether the connection works.
//
// Words: the *fleet* is all members of the host. A *Conn* is the connection to one member. It implements
// multicluster-runtime's cluster interface, so that a standard controller can use it. A *probe* reads the member's
// Membership. That one request proves three things: the API server answers, it accepts the host's credentials, and the
// cluster is the one that joined. A *ProbeResult* is the result of a member's last probe. A member is *usable* if its
// last probe proved all three.
//
// Why it is so: a cluster object of controller-runtime costs 584 KiB and 13 goroutines for each member, before any
// work. A Conn has no informer factory and no event broadcaster. It needs no discovery for built-in kinds: all members
// serve them in the same way, so their names and scopes are part of the program. A Conn has no cache: to read from the
// result of GetCache is a programming error, and every such read returns an error.
//
// A watch does not prove that a member is usable. A server does not end a watch when the token expires, and on a
// half-open connection no event and no error arrives. That is why only the probe decides whether a member is usable.
// The file probebackoff.go has the time between the probes of a member that fails. While a member is not usable, the
// circuit breaker of internal/push stops the pushes to it.
package member
