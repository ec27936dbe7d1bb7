// SPDX-License-Identifier: Apache-2.0

// Package deliveries holds what members have on record: for each connected member, a summary of each of its Deliveries.
// It reads members and writes nothing to them. Every loop that needs to know what a member holds reads it here.
//
// Words: a *Key* names a wrapper on the host. A *Summary* is the part of a Delivery that the host keeps in memory. An *Index*
// holds the summaries of one member and follows the member's watch. The *Store* has the Index of each member. An *orphan* is a
// Delivery that no wrapper accounts for. A *seal* is the host's signature on a Delivery.
//
// Why it is so: the members store what was delivered to them, so the host stores nothing for each pair of wrapper and member.
// After a restart the manager learns everything from one paged list for each member. A summary has digests and at most a few
// lines of trouble, never the inventory, so a fleet of 100,000 Deliveries for each member fits into memory.
//
// The package knows nothing of pushing. A manager that is responsible for some of the members opens the indexes of those, and
// a manager without a pusher can open them too.
package deliveries
