// SPDX-License-Identifier: Apache-2.0

// Package admission answers the admission requests of the host's API server about wrappers.
//
// Two thin handlers serve both kinds of wrappers. The mutating handler adds Fairlead's finalizer to new wrappers, so every
// wrapper has the finalizer before any of its objects is on a member. The finalizer keeps a deleted wrapper until the
// manager has removed its objects from the members. The mutating handler also writes the author of the content into an
// annotation (ADR 26). The validating handler refuses the faults that the schema cannot find. It calls the same validation
// function as the controller and hostctl.
//
// The validating handler also warns of settings that it accepts and that the author may not intend. One example is a name
// for which no MemberCluster exists: a typing error, or the name of a member that joins later. Another is a wave without
// members.
//
// Why it is so. The mutating handler refuses no spec. It runs before the API server checks the schema. For a wrong field
// the API server's message is better than that of a JSON decoder. Neither handler has a side effect, so `kubectl diff` and
// `--dry-run=server` show the true result. The controller makes the same checks again, because a client can bypass a
// webhook. The validating handler accepts an update that leaves the spec unchanged, and a wrapper that is being deleted. If
// it checked these too, a rule of a later version could refuse the update that removes a wrapper's finalizer.
package admission
