// SPDX-License-Identifier: Apache-2.0

// Package intents lets new pairs of a member share the write of their intents (docs/adr/0023).
//
// Words:
//
//   - A *pair* is one wrapper on one member. The pair is *new* if the member has no Delivery of it.
//   - An *intent* is the Delivery of a pair before the objects in it are applied. It makes sure that some record on the
//     member lists each object before the object exists.
//   - The *list of shared intents* is one object on the member. Each *entry* in it is the intent of one new pair, and
//     replaces the pair's Delivery until the pass of the pair writes that.
//   - To *deliver* an entry is to make the Delivery of its pair: create it, or add the entry's objects to it.
//
// Turns decides which pairs share a write. List reads and writes the list on the member. Both need a lock of the
// caller. One rule makes the list safe: while the list has an entry of a pair, no pass of the pair runs, except the one
// that the entry was written for. So an entry never describes an earlier time than the pair's Delivery.
package intents
