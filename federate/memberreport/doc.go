// SPDX-License-Identifier: Apache-2.0

// Package memberreport decides which MemberReports a wrapper has, from the evidence that its members show.
//
// Words:
//
//   - A member *shows* something if its Delivery has an object that is not healthy, with evidence about it.
//   - Members show the same if the object and the reason are the same, and the messages are the same apart from what differs between
//     clusters anyway (cause.Normalize removes that), and apart from the words of the log (health.WithoutLog).
//     The *key* is a hash of the wrapper's uid, the object, the reason and the message.
//   - The *sample* is the evidence of one of the members that show the same. All these members share one report.
//
// While the member of a sample still shows the key, no other member's evidence replaces the sample. After that, the sample stays until
// another member with the same key sends its evidence. So a report does not change with each member that sends evidence.
//
// Why the package keeps only some samples: a thousand members can show a thousand different things. A wrapper has at most ten
// reports, so the samples of most of them would never be needed. A key becomes important when more members show it. Each of these members
// sends its evidence, so the key gets a sample then.
//
// The package is pure: it has no client and no clock, and the order in which members send evidence does not change the keys, the
// names and the members of the reports.
package memberreport
