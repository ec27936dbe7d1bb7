// SPDX-License-Identifier: Apache-2.0

// Package member connects the host to its members: one small connection for each, and a probe that finds out at any
// time whether the connection works.
//
// Words: the *fleet* is all members the host knows. A *Conn* is the connection to one of them. It implements
// multicluster-runtime's cluster interface, so that a standard controller could engage with it. A *probe* reads the
// member's Membership. One request proves that the API server answers, that it accepts the host's credentials, and
// that it is the joined cluster. A *probe result* is the result of the last probe.
//
// Why it is so: a controller-runtime cluster costs 584 KiB and 13 goroutines for each member before it has done
// anything, and KubeFed reached its limits with less. A Conn has no informer factory, no event broadcaster and no
// discovery for built-in kinds: all members serve these in the same way, and the mapping is compiled in. A call of
// GetCache is a programming error; the cache returns an error that says so.
//
// A watch is no proof of life: a server does not cut it when the token dies, and a half-open connection delivers
// silence. That is why only the probe decides whether a member is usable. The backoff of a member that fails is in
// probebackoff.go; while it lasts, the circuit breaker of internal/push stops the pushes to the member.
package member
