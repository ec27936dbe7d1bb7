// SPDX-License-Identifier: Apache-2.0

// Package boundedwatch keeps lists and watches of one member alive through outages, refusals and kinds that come and
// go. One budget of memory bounds all of them.
//
// Words. A *Watch* is one list-and-watch with the callbacks that take its objects. A *Set* runs exactly the desired
// watches. To *kick* a watch is to end its pause before the next try.
//
// A watch that fails tries again after a second at first, and after 30 seconds at most. After ten seconds of refusals
// (403) the watch reports the refusal to its owner. From then on its pauses grow to five minutes: a role changes only
// when a person changes it. A watch whose owner notices when the kind appears does not poll for a kind that is not
// served.
package boundedwatch
