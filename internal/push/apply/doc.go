// SPDX-License-Identifier: Apache-2.0

// Package apply makes one pass: one attempt to bring one wrapper on one member to what is wanted there.
//
// A pass goes through fixed steps, a file each: resolve (how does the member serve these kinds, and
// may they go there), namespace (is it there, and open to the host), intend (write into the Delivery what is about to happen),
// look (at what is not recorded as ours) and adopt, apply, remove (package prune, once all that is wanted stands), record (write
// into the Delivery what did happen). Nothing is ever on a member that no Delivery lists, and whatever kills a pass half-way,
// the next one finds in the Delivery where to go on.
//
// Words: an *item* is one wanted object on its way. *Trouble* is what is in the way of one item; the others go on. An error is
// one of the wire, and ends the pass.
package apply
