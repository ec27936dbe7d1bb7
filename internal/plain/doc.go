// SPDX-License-Identifier: Apache-2.0

// Package plain sanitizes a member's text for display and storage. Callers use it once, when the text arrives, before
// any other package reads it.
//
// Why it is so: a member's administrator writes the Membership, and may change the schema that bounds it there. Control
// characters in it could act on a terminal. A name may become part of a command that a person copies from a message.
// And the host's API server refuses a status that breaks its schema, so the old status would stay forever. The package
// cleans bad text and does not refuse it: a member with an odd fact is still a member.
package plain
