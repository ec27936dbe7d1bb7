// SPDX-License-Identifier: Apache-2.0

// Package member connects the host to its members. It keeps one small connection to each, and a probe that finds out
// whether the connection works.
//
// Words: the *fleet* is all members that the host knows. A *Conn* is the connection to one of them. It implements
// multicluster-runtime's cluster interface, so that a standard controller can use it. A *probe* reads the member's
// Membership. One request proves three things: the API server answers, it accepts the host's credentials, and the
// cluster is the joined one. A *probe result* is the result of the last probe.
//
// Why it is so: a cluster object of controller-runtime costs 584 KiB and 13 goroutines for each member, before any
// work. KubeFed reached its limits with less. A Conn has no informer factory and no event broadcaster. It needs no
// discovery for built-in kinds, because all members serve them in the same way; their mapping is compiled in. A call of
// GetCache is a programming error; the cache returns an error that says so.
//
// A watch is no proof of life: a server does not cut it when the token dies, and a half-open connection delivers
// silence. That is why only the probe decides whether a member is usable. The backoff of a member that fails is in
// probebackoff.go. While it lasts, the circuit breaker of internal/push stops the pushes to the member.
package member
