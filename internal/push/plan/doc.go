// SPDX-License-Identifier: Apache-2.0

// Package plan decides what the next pass on a member does, and when it is due. It is pure: it takes values and the
// present time and returns decisions. It has no member, no connection and no clock.
//
// Words: a *pair* is one wrapper on one member. *Desired* is the desired state of a pair: objects on the member, or
// to leave it. An *Outcome* is the result of the last pass of a pair. A *History* is the host's memory of the passes
// of a pair; it decides whether another pass is due, and what it repairs. It also has the backoff of a pair that
// fails. If another client undoes every repair of an object, a *drift backoff* makes the repairs rare. The *schedule
// of Secrets* makes the manager check each Secret in turn, because no collector may read them.
package plan
