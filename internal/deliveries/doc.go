// SPDX-License-Identifier: Apache-2.0

// Package deliveries holds what members have on record: a summary of each Delivery on each connected member. It reads members and
// never writes to them. Each loop that needs to know what a member holds learns it here.
//
// Words: a *Key* names a wrapper on the host. A *Summary* is the part of a Delivery that the host keeps in memory. An *Index*
// holds the summaries of one member and keeps them current with a list and a watch. The *Store* has one Index for each connected
// member. A *Record* is what one member has on record of one wrapper. An *orphan* is a Delivery that no wrapper accounts for. A
// *seal* is the host's signature on a Delivery. A *fingerprint* is what a summary keeps of an inventory (fingerprint.go).
//
// A Delivery comes from the member in this order, a file for each step: lister.go requests it, decode.go decodes it, summary.go
// and bounds.go make its summary, index.go stores it and tells the listeners. watch.go runs the reflector, and watchliveness.go
// tells a dead watch from a member where nothing changes. orphans.go and hostwrappers.go find the orphans. signature.go signs and
// verifies seals.
//
// Why it is so: each member stores what was delivered to it, so the host stores nothing for the pairs of wrapper and member. After a
// restart the manager learns everything from one paged list for each member. A summary has only a fingerprint of the inventory, so that 100,000
// Deliveries of one member fit into 64 MiB.
//
// The package knows nothing of pushing. A manager that is responsible for some of the members opens the indexes of those members.
// What is desired is a function (Desired), so orphans need no pusher either.
package deliveries
