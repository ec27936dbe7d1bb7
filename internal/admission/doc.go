// SPDX-License-Identifier: Apache-2.0

// Package admission answers the admission requests of the host's API server about wrappers.
//
// Two thin webhooks serve both kinds of wrappers. The first adds Fairlead's finalizer to new wrappers. So every wrapper
// has the finalizer before any of its objects is on a member. The finalizer keeps a deleted wrapper until its objects
// are removed. The second webhook refuses the faults that the schema cannot find, with the same function that the
// controller and hostctl call.
//
// The validating webhook also warns of accepted settings that the author may not intend. One is a name without a
// MemberCluster: it may be a typing error, or the name of a member that joins later. Another is a wave without members.
//
// Why it is so: neither webhook has a side effect, so that `kubectl diff` and `--dry-run=server` show the true result.
// Neither is a boundary on its own: a client can bypass a webhook, and the controller checks again. The webhook never
// refuses an update that leaves the spec unchanged, or a wrapper that is being deleted. Otherwise a rule of a later
// version could block the removal of its finalizer.
package admission
