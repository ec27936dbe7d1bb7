// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which rendering each placed member of a wrapper has to have now, when a change goes out in
// waves.
//
// Words: the *newest* revision is the revision of the present spec. A member is *updated* when the manager has decided
// that it gets its rendering of the newest revision. A rendering also changes with a label of the member or a new
// version of Fairlead, and such a change goes out in waves like any other. A *wave* is a group of members; a member
// belongs to the first wave that selects it, or to the last wave, "rest". The *current* wave is the one whose members
// are being updated; the waves before it have *passed*. A wave *passes over* a member that it does not wait for. A
// member is *fresh* if it never had the wrapper. The *last good* revision is the newest one that was Healthy on every
// member that the manager could reach. A member *fails* when it is Stalled on the newest revision, or not Healthy when
// its progress deadline ends. The *budget* is how many more members may become not Healthy under maxUnavailable.
//
// The package keeps these rules. A test (explore_test.go) checks them for small fleets:
//
//   - The manager starts the update of a Healthy or a fresh member only while fewer members than maxUnavailable are not
//     Healthy. The update of a member that is not Healthy uses none of this budget, so that a correction can reach such
//     a member.
//   - No member is updated before each earlier wave is Healthy, has soaked, and has the Approvals that it needs.
//   - A member that is not updated keeps its revision. A member never has objects of two revisions.
//   - If no member changes, the decision gives the reason.
//
// In these cases there was a choice, and the package decides:
//
//   - A fresh member uses budget, and counts as not Healthy until it is Healthy. So a first delivery is limited like
//     any update.
//   - A failure in a passed wave also stops the later waves. A failure after the last wave has passed stops nothing:
//     the waves have passed with the revision, so it is probably not the cause.
//   - If a wave passed over a member, or a member joins a passed wave, the manager updates the member when it can. No
//     wave waits for that member.
//   - After an edit of the waves, a new rollout begins, and the first wave that is not done is the current one. It needs its
//     Approval even if it had begun before the edit.
//   - A target that an unfinished rollout has set has to become Healthy and to soak, even if the next edit does not change it.
//   - No wave passes before the first member is placed.
//
// The package is pure. It gets the time as a value, and everything that must survive a restart of the manager is in
// State.
package rollout
