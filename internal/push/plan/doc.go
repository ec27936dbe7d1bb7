// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a member is to be pushed next, and when. It is pure: values and the present time go in,
// decisions come out. It knows no member, no connection and no clock.
//
// Words: a *pair* is one wrapper on one member. *Desired* is what the host wants of a pair: objects that are to stand there,
// or to leave. An *Outcome* is how far the last pass of a pair got. A *History* is what is remembered of the passes of a
// pair; it decides whether another one is due, and what that one is to repair. A *drift backoff* makes repairs of an object
// rare that another client changes back after each of them. The *schedule of Secrets* has each Secret checked again in
// turns, because no collector may read them.
package plan
