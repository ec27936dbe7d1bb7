// SPDX-License-Identifier: Apache-2.0

// Package oldrevisions renders revisions that a wrapper had before its present spec. Members that wait in a rollout hold such a
// revision: the manager repairs drift there, and takes a failed rollout back to one.
//
// Why it is so: the host keeps no old spec in memory for each pair. A Rendering has a digest and the names of its objects, and reads
// the ControllerRevision again when a pass needs the objects. The Store keeps the last maxRevisions of them.
//
// A rendering depends on more than its revision: on the member's labels, and on Fairlead's own version. So the Store hands out a
// Rendering only if it has the digest that the member was told to have. Otherwise the member's objects could not be repaired without
// changing them.
package oldrevisions
