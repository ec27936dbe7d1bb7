// SPDX-License-Identifier: Apache-2.0

// Package plan decides when the next pass for a pair is due and what the pass does. It is pure: it takes values and the
// present time, and returns decisions. It uses no connection to a member and no clock.
//
// Words:
//
//   - A *pair* is one wrapper on one member. A *pass* is one attempt to bring a pair to its desired state.
//   - *Desired* is the desired state of a pair: the objects that the member should have, or no objects if the wrapper
//     is to leave the member.
//   - An *Outcome* is the result of the last pass of a pair.
//   - A *History* is what the manager remembers of the passes of a pair. It decides whether another pass is due, and
//     which objects that pass repairs. If passes fail, it makes the time between them longer.
//   - An object is *contested* if another client undoes every repair of it. The object's *drift backoff* then makes the
//     time between the repairs longer.
//   - An object is *unrecorded* from the time when a pass applies it without an intent until a Delivery records its
//     content. The collector reports such an object as *unfinished* if that takes too long.
//   - The *schedule of Secrets* makes the manager check each Secret for drift in turn, because collectors must not read
//     Secrets.
package plan
