// SPDX-License-Identifier: Apache-2.0

// Package boundedwatch keeps lists and watches of one member alive: through outages, refusals and kinds that come and go, within
// one budget of memory for all of them.
//
// Words. A *Watch* is one list-and-watch with the callbacks that take its objects. A *Set* runs exactly the desired watches. To *kick* a
// watch is to end its pause before the next try.
//
// A watch that fails tries again after a second at first, and after 30 seconds at most. A refusal (403) is believed after ten
// seconds. It is then reported to the watch's owner, and the pauses grow to five minutes: a role changes when a person changes
// it. A kind that is not served is not polled for where something else sees it appear.
package boundedwatch
