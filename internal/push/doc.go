// SPDX-License-Identifier: Apache-2.0

// Package push brings members to their desired state. Only this package and package join write objects on members.
//
// Words: a *pair* is one wrapper on one member. The *desired state* (Desired) of a pair is the objects that the member
// should have, or no objects if the wrapper is to leave the member. A *pass* is one attempt to bring a pair to its
// desired state, and an *Outcome* is the result of a pass. An object is *contested* if another client undoes every
// repair of it. A *member queue* has the pairs of one member that may need a pass, and a circuit breaker. It also
// limits the passes that run at the same time (package inflight). Each member has its own, so a member that hangs does
// not delay the others.
//
// The packages below this directory. Each imports only packages that come after it in this list:
//
//   - intents lets new pairs share the write of their intents.
//   - apply makes one pass. Its doc.go lists the steps.
//   - prune removes objects that are no longer desired, and keeps objects that hold data.
//   - installplan approves the InstallPlans of OLM that spec.upgrade asks for.
//   - namespaces creates the namespaces of wrappers, and checks that they are open to the host.
//   - memberapi sends single requests to a member's API server, and explains its refusals.
//   - plan decides when a pass is due and which objects it repairs. It is pure.
//
// Where each backoff is:
//
//   - Passes of a pair that do not succeed: plan/passhistory.go (method again). After an error that concerns the whole
//     member, the first wait is 1 s. In all other cases it is one of the times in plan/outcome.go (RetrySoon, RetryLater).
//   - Repairs of a contested object: plan/driftbackoff.go.
//   - Probes of a member that does not answer: internal/member/probebackoff.go (function nextProbe).
//   - The circuit breaker (circuitbreaker.go) sets no times. It stops the passes of a member after a failed probe, or
//     after an error that concerns the whole member. It resumes them after a successful probe.
//
// A Delivery is the record of what was delivered. Why it is on the member: the host stores nothing for the pairs, and a
// loss of the host's etcd loses no Delivery. After a restart, the manager reads the Deliveries of a member in one paged
// list. The price is up to two more writes for each change. They go to the member's API server, and not to the host's
// API server, which all members share. A member queue depends only on its member and the desired states of its pairs,
// so several managers can divide the members among them.
//
// Collectors report drift, and a pass repairs it. No collector may read Secrets, so the manager itself checks whether
// another client has changed a Secret: each Secret every ten minutes, and at most ten Secrets a second over the whole
// fleet. plan/secretschedule.go decides when, and secretresync.go makes the check.
package push
