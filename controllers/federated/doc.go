// SPDX-License-Identifier: Apache-2.0

// Package federated is the loop over wrappers, of both scopes.
//
// A reconcile goes through these steps, each a file:
//
//   - writecache: take the newer of the cache's copy and our own last write, because the cache may lag.
//   - finalizer: put our finalizer on the wrapper.
//   - place and approvals: list members and Approvals.
//   - writerevision: write the spec as a ControllerRevision.
//   - place: decide on members, and write a decision that is new before any step acts on it.
//   - render: make what each member gets, and enqueue it at internal/push.
//   - status: write the status, once.
//
// delete takes the place of these steps while a wrapper is being deleted. A reconcile never waits for a member: enqueue
// returns immediately, and a change on a member wakes the wrapper.
//
// Why it is so: a new wrapper costs the host three writes: its revision, the decision, and one status when all is done. A
// change of its objects costs two, because the decision is not written for its generation alone (ADR 20). An unchanged
// wrapper costs none. The loop therefore holds the status back while pushes are under way: until no push is, it writes at
// most one status per statusInterval.
package federated
