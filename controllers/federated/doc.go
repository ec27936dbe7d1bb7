// SPDX-License-Identifier: Apache-2.0

// Package federated is the loop over wrappers of both scopes: Federated and ClusterFederated.
//
// A reconcile has these steps. Each line begins with the name of the file:
//
//   - writecache: take the newer of two copies, the one in the cache and the one that this manager wrote last.
//   - write: put Fairlead's finalizer on the wrapper.
//   - place and approvals: list members and Approvals.
//   - versions and firstwave: take new versions for Subscriptions with `approve: Latest`.
//   - revise: write the spec as a ControllerRevision, with package revisions.
//   - place: decide on which members the wrapper is placed, and write a new decision before any step acts on it.
//   - render: render the objects for each member.
//   - rollout and rolloutmembers: choose, if the wrapper has a rollout, which members get the newest revision now.
//   - render (enqueue): give the desired state of each member to internal/push.
//   - status: write the status, once.
//
// The steps are methods of the type reconciliation, which has the results of the steps. Code that only computes on
// values is in functions, or in types with their own inputs. The packages below this one are parts that do not need the
// loop: observed (what the manager knows about members), revisions, rolloutstate and wrapperevents. The file trace adds
// the steps to the traces of package tracing, if tracing is on.
//
// The package has more than 15 source files, because each step has its own file, and the loop has others for its queue,
// its watches, its metrics, its index of wrappers, and the writes that it remembers.
//
// For a wrapper that is being deleted, the steps in delete.go run instead of these steps. cascade.go finds out whether a
// person deleted the wrapper itself. A reconcile never waits for a member: it gives the desired state to internal/push,
// which returns at once. A change on a member starts another reconcile.
//
// The loop writes to the host as rarely as possible. A new wrapper causes three writes: its revision, the decision, and
// one status when all pushes are done. A change of the wrapper's objects causes two writes, the revision and the
// status: the loop does not write a decision in which only the generation is new (ADR 20). An unchanged wrapper causes
// no write. While pushes are under way, the loop writes at most one status per statusInterval. A status that repeats the
// stored one, for example with one restart more, waits (package coalesce).
package federated
