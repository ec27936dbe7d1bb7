// SPDX-License-Identifier: Apache-2.0

// Package memberreport decides which MemberReports a wrapper has, from the evidence that its members show.
//
// Words:
//
//   - A member *shows* something if its Delivery has an object that is not healthy, with evidence about it.
//   - Members show the same if the object, the reason and the message are the same. Of the message, only what differs between
//     clusters by itself does not count (see cause.Normalize). The *key* is a hash of all that, and of the wrapper's uid.
//   - The *sample* is the evidence of one of the members that show the same. All these members share one report.
//
// A sample stays that of its member for as long as that member shows the same. After that, the sample stays until another of the
// members sends its evidence. So a report does not change with each member that sends evidence.
//
// Why the package keeps only some samples: a thousand members can show a thousand different things. A wrapper has at most ten
// reports, so the samples of most of them would never be needed. A member that joins others with the same key always brings its
// evidence, so a key that becomes important gets a sample then.
//
// The package is pure: it has no client and no clock, and the order in which members send evidence does not change the keys, the
// names and the members of the reports.
package memberreport
