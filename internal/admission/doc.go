// SPDX-License-Identifier: Apache-2.0

// Package admission is what the host's API server asks before it takes a wrapper.
//
// Two thin webhooks for both kinds of wrappers: one puts Fairlead's finalizer on what is created, so
// that no object is on a member before its wrapper can be held back until it was left in order; one
// refuses what the schema cannot see, with the same function that the controller and hostctl call.
//
// The validating webhook also warns of what it takes and the author may not mean. A name that no MemberCluster
// has is such a case: it may be a typing error, or the name of a member that joins later.
//
// Why it is so: neither has a side effect, so that `kubectl diff` and `--dry-run=server` tell the
// truth, and neither is a boundary on its own: a webhook can be bypassed, and the controller checks
// again. An update is judged only for what it makes worse: a wrapper that is being deleted, or whose
// spec is unchanged, is never refused, or a rule that came later could keep its finalizer from going.
package admission
