// SPDX-License-Identifier: Apache-2.0

// Package apply makes one pass: one attempt to bring one wrapper on one member to its desired state.
//
// A pass goes through fixed steps, a file each. resolve: how does the member serve these kinds, and are they allowed
// there? namespace: does it exist, and is it open to the host? intend: write the planned changes into the Delivery.
// look: find out to whom unrecorded objects belong; adopt. apply. remove: package prune, after all desired objects
// are there. record: write the result into the Delivery. A Delivery lists every object of the pass before the object
// exists. If a pass dies half-way, the next pass reads in the Delivery where to continue.
//
// A pass leaves out three steps where it can. A pass that only changes contents does not read the Delivery: the host
// remembers it (recall.go). If a lost record could do no harm either, the pass writes no intent (withoutintent.go). An object that
// no Delivery listed before is applied without a look, by an apply that only creates (createonly.go).
//
// Words: an *item* is one desired object during a pass. *Trouble* is a problem with one item; the others go on. An
// error concerns the member as a whole, and ends the pass.
package apply
