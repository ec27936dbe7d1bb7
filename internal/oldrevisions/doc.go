// SPDX-License-Identifier: Apache-2.0

// Package oldrevisions renders earlier revisions of a wrapper, that is, the objects of an earlier ControllerRevision
// with its overrides. The manager needs them in two cases:
//
//   - In a rollout, a member that waits for its turn still has an earlier revision. The manager repairs drift there
//     with that revision.
//   - When a rollout fails, the manager may bring all members back to the last good revision.
//
// To save memory, a Rendering has only a digest and the names of its objects. When a pass needs the objects, the
// Rendering reads the ControllerRevision again. The Store keeps in memory the revisions that were used last, at most
// maxRevisions.
//
// The objects of a revision for one member also depend on the member's labels and on the version of Fairlead. So the
// Store returns a Rendering only if its digest is the one in the member's Delivery. If the manager used another
// Rendering to repair drift, the repair would also change fields that have not drifted.
package oldrevisions
