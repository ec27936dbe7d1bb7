// SPDX-License-Identifier: Apache-2.0

// Package push brings members to their desired state. Only this package and join write to members.
//
// Words: a *pair* is one wrapper on one member. Its *desired state* (Desired) is objects on the member, or to
// leave it. A *pass* is one attempt to bring a pair to its desired state, and its *Outcome* is its result. Each
// member has a *member queue*, so that a hung member costs the others nothing. It has one queue of pairs, a limit on
// concurrent passes (package inflight), and a circuit breaker.
//
// The packages below this one, each of which imports only those after it:
//
//   - apply makes one pass: resolve, namespace, intend, look, adopt, apply, record.
//   - prune removes what the wrapper dropped from the member, and keeps objects that hold data.
//   - memberapi has the requests to a member's API server, and what its refusals mean.
//   - plan decides when a pass is due and what it repairs. It is pure.
//
// Where things are: the backoff of a pair that fails is in plan/passhistory.go (again), its shortest and longest wait in
// plan/outcome.go (RetrySoon, RetryLater). The backoff of the probes of a member that does not answer is in
// internal/member/probebackoff.go (nextProbe). The backoff of repairs is in plan/driftbackoff.go. circuitbreaker.go has
// no times: it stops and resumes the passes of a member as its probes report.
//
// Why it is so: the record of delivered objects lives on the member, beside the objects. So the host stores nothing
// for M×N pairs, loses no such record with its own etcd, and learns everything after a restart from one paged list
// for each member. The price is two more writes for each change, on the member's API server and not on the shared one
// of the host. A member queue depends only on its member and on the desired states of its pairs, so that several
// managers can divide the members.
//
// Collectors report drift, and a pass repairs it. An object that another client changes back after every repair is
// *contested*: the manager repairs it ever more rarely (plan/driftbackoff.go decides). No collector may read Secrets,
// so the manager checks them in turns: each Secret every ten minutes, at most ten a second over the whole fleet.
// plan/secretschedule.go decides when, and secretresync.go checks.
package push
