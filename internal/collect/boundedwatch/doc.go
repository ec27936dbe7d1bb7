// SPDX-License-Identifier: Apache-2.0

// Package boundedwatch keeps the watches of one member running through outages and refusals, and while kinds appear and
// disappear. All watches of a member share one memory budget, so that a member cannot fill the memory of the collector.
//
// Words: a *Watch* is one list-and-watch with the callbacks that get its objects. Its *owner* is the code that made it.
// A *Set* runs exactly the watches that its caller wants. To *kick* a watch is to end its pause, so that it tries again
// at once.
//
// What a watch does after a failure:
//
//   - In general it tries again: after one second at first, after 30 seconds at most.
//   - If the member refuses it (403) for ten seconds, the watch reports the refusal to its owner. From then on its
//     pauses grow to five minutes, because a role changes only when a person changes it.
//   - If the member does not serve the kind, and the field Awaited of the watch is true, the watch sends no requests
//     until its owner kicks it. The owner does so when the kind appears.
package boundedwatch
