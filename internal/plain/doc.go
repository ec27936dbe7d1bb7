// SPDX-License-Identifier: Apache-2.0

// Package plain makes what a member says of itself fit to be shown and stored: at the edge, once, before anybody else sees it.
//
// Why it is so: a member's administrator writes what its Membership says, and may change the schema that bounds it there. A
// terminal obeys control characters; a name may be part of a command that a person copies from a message; and the API
// server of the host refuses a status that breaks its schema, so that the old status would stand for ever. What is cleaned is
// not refused: a member with an odd fact is a member still.
package plain
