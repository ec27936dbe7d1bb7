// SPDX-License-Identifier: Apache-2.0

// Package collect observes one member: whether the pushed objects are healthy, whether they have drifted, and the facts of
// the cluster. One Collector observes one member. It runs inside the manager (collector: Host) or in its own process
// (cmd/collector), with the same code.
//
// Words. To *observe* is to watch the metadata of the objects that Deliveries list. To *judge* is to find the health of one
// object: Healthy, Waiting, Progressing or Degraded. *Drift* is a pushed object that is gone, replaced, or changed in a field
// that Fairlead owns. *Evidence* explains a verdict to the on-call: the object's own messages, and its newest warning event. A
// *pass* goes through the inventory of one Delivery once and publishes the result.
//
// Where to look. deliverypass.go makes a pass. objectwatches.go and the package objectcache keep the records that a pass
// compares; drift.go compares them. health.go and healthinputs.go read the objects that a verdict needs. publish.go writes
// the status. desiredwatches.go decides which watches run, and the package boundedwatch keeps them alive. The package
// deliveryindex maps an event to the Deliveries that it concerns. servedkinds.go waits for kinds that the member does not
// serve yet. heartbeat.go renews the Membership and writes the facts of facts.go.
//
// The collector writes the status of Deliveries and of the Membership, and nothing else. It reports drift, and the host applies
// the object again: the program that judges does not repair.
//
// Why it is so:
//
// The collector holds no payload. An object arrives as metadata, and the collector trims it on arrival to its UID, its
// resourceVersion, two digests and a flag. That is enough to see drift: if another client writes a field of ours, the ownership
// moves, and the digest of our managedFields entry changes. Health needs the whole object. It is read when its metadata changed, at most every two seconds, and not
// kept.
//
// A suspicion is confirmed before it is written. Deliveries and objects come through different watches, which are not ordered
// against each other: an object that the host has just applied may arrive before or after the Delivery that records it. So the
// object is read again, after the Delivery was taken from the index. The write carries the resourceVersion of that Delivery: where
// it succeeds, the record did not change while the object was read. Without this every second push would look like drift.
//
// What our manager wrote last is no drift. The manager may apply a changed object before it records that, and may die in between. Our
// managedFields entry then owns the annotation with the digest of the rendering, and the Delivery records another one. unfinished.go gives the
// manager 30 s from its apply until the record, and then reports the object as unfinished, with a mark like that of a drift.
//
// The result of a read outranks an older watch event. The collector stores it under its resourceVersion, and a late event does
// not replace it. Otherwise reports of drift would flicker.
//
// When all is well, nothing is written. Kinds without progress of their own are healthy once applied, and have no line. A status
// that would not change is not written. A Delivery's status is written at most once a second, and nothing is read for it sooner. A
// quiet member costs the heartbeat, once a minute, and the watches.
//
// An object that cannot be read keeps its line: so it is while a watch is not up yet, or the member does not answer. If the
// member refuses a read, the line reports that, with the RBAC rule that would allow it.
//
// Each struct with a lock guards only its own fields, and holds it for no call to another. What changes is written first and the
// index is asked after it; a Delivery is entered in the index first and compared after that. So one of the two always sees the
// other, and no event is lost between two locks.
package collect
