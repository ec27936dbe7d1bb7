// SPDX-License-Identifier: Apache-2.0

// Package plain cleans text that comes from a member, and the names of users, before Fairlead shows or stores it.
// Callers clean a text once, when it arrives, before any other package reads it.
//
// Why it is so: a member's administrator can write the Membership, and can change the CRD whose schema limits its text.
// Such a text could do harm in three ways. Control characters could act on a terminal. A name could become part of a
// command that a person copies from a message. And if a text breaks the schema of a MemberCluster's status, the host's
// API server refuses the whole status. The package changes a bad text and does not refuse the member, because the rest
// of what the member reports is still useful.
package plain
