// SPDX-License-Identifier: Apache-2.0

// Package push brings members to what the host wants, and is, with join, the only writer on a member.
//
// Words: a *pair* is one wrapper on one member. A *Want* is what the host wants of a pair: these objects, or to leave. A *pass*
// is one attempt to bring a pair from what its Delivery says to what is wanted, and its *Outcome* is how far it got. Each member
// has a *member queue*: one queue of pairs, as many passes at once as the member bears (package inflight), backoff and a
// circuit breaker, so that a hung member costs the others nothing.
//
// The rooms below this one, each of which imports only those after it:
//
//   - apply makes one pass: resolve, namespace, intend, look, adopt, apply, record.
//   - prune takes away what is not wanted any more, and keeps what holds data.
//   - memberapi has the requests to a member's API server, and what its refusals mean.
//   - plan decides when a pass is due and what it repairs. It is pure.
//
// Why it is so: the record of what was delivered lives on the member, beside the objects. The host
// therefore stores nothing for M×N pairs, forgets nothing with its own etcd, and learns everything
// after a restart from one paged list for each member. The price is two more writes for each change,
// on the member's API server rather than on the one that everybody shares. A member queue depends on nothing but its member
// and what is wanted there, so that members can be divided among several managers.
//
// Drift is what collectors report, and a pass repairs it. An object that is changed back after every
// repair is *contested*: its repairs become rare (plan/driftbackoff.go decides). Secrets, which no collector may read, are
// looked at in turns: each one every ten minutes, at most ten a second over the whole fleet (plan/secretresync.go decides,
// secretresync.go does it).
package push
