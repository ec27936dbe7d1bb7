// SPDX-License-Identifier: Apache-2.0

// Package plain sanitizes a member's text for display and storage: at the edge, once, before any other package reads
// it.
//
// Why it is so: a member's administrator writes the Membership, and may change the schema that bounds it there.
// Control characters in it could act on a terminal. A name may become part of a command that a person copies from a
// message. And the API server of the host refuses a status that breaks its schema, so that the old status would stay
// for ever. Bad text is cleaned and not refused: a member with an odd fact is still a member.
package plain
