// SPDX-License-Identifier: Apache-2.0

// Package apply makes one pass: one attempt to bring one wrapper on one member to its desired state.
//
// Words: a *pair* is one wrapper on one member. An *item* is one desired object during a pass. The *marks* are the
// label and the annotations that Fairlead sets on every object that it pushes. *Trouble* is a problem with one item:
// the pass goes on with the other items. An *error* concerns the member as a whole and ends the pass.
//
// A pass makes these steps, in this order:
//
//  1. read (delivery.go): read the Delivery, and end the pass if a person has to decide first.
//  2. resolve (resolve.go): find out how the member serves each kind, and refuse objects that Fairlead must not
//     deliver.
//  3. namespace (package namespaces): create the wrapper's namespace if it is missing, and check that the host may write
//     into it.
//  4. intend (record.go): write to the Delivery what the pass is about to change. This write is the *intent*.
//  5. apply (apply.go): apply each object. Before that, look at an object that the Delivery does not record as applied
//     (ownership.go): the pass may create it (create.go), apply it, adopt it (adopt.go), or leave it to its owner.
//  6. remove (package prune): remove the objects that are no longer desired, after all desired objects are applied.
//  7. record (record.go): write to the Delivery what the pass has applied and removed.
//
// Each step is a type with the state that it needs, and pass.go calls them. The steps share two values: the inventory
// (inventory.go), which has the objects of the pass, and the delivery (delivery.go), which reads and writes the Delivery
// on the member.
//
// Because of the intent, the Delivery lists every object before the pass creates it. If a pass ends half-way, the next
// pass reads in the Delivery where to go on.
//
// To save requests, a pass leaves out three of these steps where that is safe:
//
//   - If only the content of objects changes, it does not read the Delivery: it uses the summary of the Delivery that
//     the host has in memory (recall.go).
//   - If an interruption of the pass would lose nothing, it writes no intent (withoutintent.go).
//   - If no Delivery listed an object before, it does not look at the object, but sends an apply that can only create
//     it (create.go).
package apply
