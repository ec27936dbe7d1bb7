// SPDX-License-Identifier: Apache-2.0

// Package collect observes one member: how the objects that were pushed there fare, whether somebody
// changed them, what the member is made of. One Collector is one member's; it runs inside the manager
// (collector: Host) or as a program of its own (cmd/collector), and is the same code in both.
//
// Words. To *observe* is to watch, metadata only, what Deliveries list. To *judge* is to say how one
// object fares: Healthy, Waiting, Progressing or Degraded. *Drift* is a pushed object that is gone,
// replaced, or changed in a field that is ours. *Evidence* is what a person needs to see why: the
// object's own words, and those of its newest warning event.
//
// What it writes: the status of Deliveries and of the Membership, and nothing else, ever. What it does
// about drift: nothing. It marks, the host applies again; who judges does not write.
//
// Why it is so:
//
// No payload is held. An object arrives as metadata and is cut down, on arrival, to its uid, its
// resourceVersion, two digests and a flag: enough to see drift, since a foreign write to a field of
// ours moves its ownership and thereby changes the digest of our managedFields entry. Health needs the
// whole object; it is read when its metadata changed, at most every two seconds, and let go again.
//
// A suspicion is confirmed before it is written. Deliveries and objects come through different watches,
// which are not ordered against each other: the object as the host has just applied it may arrive before
// the Delivery that says so, or after it. So the object is read again, after the Delivery was taken to be
// judged, and the write carries the resourceVersion of that one: where it succeeds, the record stood while
// the object was read. Without this every second push would look like drift.
//
// A fact that was read outranks a watch event that is older than it: what was confirmed is put among
// the records under its resourceVersion, and a late event does not undo it. Otherwise marks would
// flicker.
//
// All is well is silence. Kinds without progress of their own are healthy once applied, and nothing is
// written for them; a status that would say what it said is not written; a Delivery's status is written
// at most once a second, and nothing is read for it sooner. A quiet member costs the heartbeat, once a
// minute, and the watches.
//
// Ignorance is not news. What cannot be read (a watch that is not up yet, a member that does not answer)
// leaves the lines as they were; what must not be read says so, with the rule that would allow it.
package collect
