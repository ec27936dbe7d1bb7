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
// What holds, and what the exploration in the tests proves for small fleets:
//
//   - The manager starts the update of a Healthy or a fresh member only while fewer members than maxUnavailable are not Healthy.
//     The update of a member that is not Healthy costs nothing: otherwise a correction could not go out.
//   - No member is updated before each earlier wave is Healthy, has soaked, and has the approvals that it needs.
//   - A member that is not updated keeps what it has. Two revisions never stand on one member.
//   - If nothing happens, the decision names what it waits for.
//
// Choices where the design leaves one:
//
//   - A fresh member costs budget, and counts as not Healthy until it is. So a first delivery is paced like any other update.
//   - A failure in a passed wave stops the later waves, too. A failure after the last wave has passed stops nothing: the revision
//     was Healthy there, and another one would not be reached by going back.
//   - A member that was passed over, or joins a passed wave, is updated when it can be, and holds no wave back.
//   - Editing the waves makes the first one current that is not done. What it needs, such as an approval, it needs then.
//
// The package is pure. It gets the time as a value, and everything that a restart of the manager must not forget is in State.
package rollout
