// SPDX-License-Identifier: Apache-2.0

// Package deliveries keeps a summary of each Delivery on each connected member. A Delivery is the record, on a member,
// of one wrapper there. The package reads Deliveries and never writes to a member. Its summaries tell other packages
// which wrappers have objects on a member, and in which state these objects are.
//
// Words:
//
//   - A *Key* names a wrapper on the host.
//   - A *Summary* is the part of a Delivery that the host keeps in memory. Of the Delivery's inventory it has only a
//     *fingerprint* (fingerprint.go).
//   - An *Index* has the summaries of one member, and keeps them current by a list and a watch. The *Store* has one
//     Index for each connected member. A *Record* is what one Index has about one wrapper.
//   - An *orphan* is a Delivery whose wrapper does not exist on the host, or is not placed on that member.
//   - A *seal* is an HMAC in a Delivery. It proves that this host wrote the Delivery.
//
// A Delivery passes through these files on its way from the member:
//
//  1. lister.go requests it, and decode.go decodes it.
//  2. summary.go and bounds.go make its summary, and evidence.go bounds its evidence.
//  3. watch.go stores the summary (summaries.go), and calls the listeners, which also get the evidence.
//
// watch.go runs the list and the watch, and watchliveness.go detects a watch that brings no more events. index.go has
// what other packages use of one member's summaries. orphans.go finds the orphans. signature.go makes and verifies
// seals.
//
// Why the summaries are only in memory: each member stores its Deliveries, so the host need not store them too. After a
// restart the manager reads one paged list from each member. The summaries of 100,000 Deliveries fit into 64 MiB.
//
// The package does not depend on package push. So a manager that serves only some of the members can read the
// Deliveries of only those members.
package deliveries
