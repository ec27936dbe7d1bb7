// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which rendering each placed member of a wrapper has now, when a change goes out in waves.
//
// Words: the *newest* revision is that of the present spec. A member is *updated* when the manager told it to have its
// rendering of the newest revision. So a label of a member, a Secret or a new version of Fairlead makes an update, too, and every
// update passes the gate. A *wave* is a group of members; a member belongs to the first wave that selects it, and to a last wave of
// its own kind, "rest", when none does. The *current* wave is the one whose members are being updated; those before it are
// *passed*. A wave is *passed over* a member that it does not wait for. A member is *fresh* when it never had the wrapper. The
// *last good* revision is the newest one that was Healthy on every member that the manager could reach. A member *fails* when it is
// Stalled on the newest revision, or not Healthy when its progress deadline ends.
//
// These rules hold. The exploration in the tests proves them for small fleets:
//
//   - The manager starts the update of a Healthy or a fresh member only while fewer members than maxUnavailable are not Healthy.
//     The update of a member that is not Healthy uses none of this budget: otherwise a correction could not reach such members.
//   - No member is updated before each earlier wave is Healthy, has soaked, and has the approvals that it needs.
//   - A member that is not updated keeps its revision. A member never has objects of two revisions.
//   - If no member changes, the decision gives the reason.
//
// The design leaves these choices open:
//
//   - A fresh member uses budget, and counts as not Healthy until it is Healthy. So a first delivery is paced like any other update.
//   - A failure in a passed wave stops the later waves, too. A failure after the last wave has passed stops nothing: the revision
//     was Healthy on that member, so the revision is not the likely cause.
//   - A member that was passed over, or joins a passed wave, is updated when it can be, and no wave waits for it.
//   - After an edit of the waves, the first wave that is not done is the current one. It needs its approval even if it had begun
//     before the edit.
//
// The package is pure. It gets the time as a value, and everything that a restart of the manager must not forget is in State.
package rollout
