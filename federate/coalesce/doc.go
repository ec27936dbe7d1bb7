// SPDX-License-Identifier: Apache-2.0

// Package coalesce decides which changes the manager writes to the host at once, and which changes wait, so that several become one write.
//
// A container that crashes changes the message about it with every restart, on each member. Such a change tells a person nothing new, but
// each write of it is a new version of the object in the host's etcd. So there are these kinds of changes:
//
//   - News is written at once: a state, a reason, a number of status.counts, a time, or the members that show something.
//   - A change is *reworded* if only messages differ, and one of them tells something else than before, for example another exit code.
//     It is written 10 s after the last reworded or repeated message at the earliest.
//   - A *repeat* tells the same again: other numbers, times and names in the same messages (package cause has that rule), other words
//     from the log of the same container (health.WithoutLog), or newer evidence about the same.
//
// A change that waits is not lost: the caller compares with the stored object again after the wait, and writes what differs then. After
// a start the manager has no memory of its writes, so the first repeat is written at once.
//
// The package is pure: the caller passes in the time.
package coalesce
