// SPDX-License-Identifier: Apache-2.0

// Package collect observes one member: whether the objects that were pushed there are healthy, whether they have drifted, and what
// the member is made of. One Collector observes one member. It runs inside the manager (collector: Host) or as a program of its
// own (cmd/collector), with the same code.
//
// Words. To *observe* is to watch, metadata only, what Deliveries list. To *judge* is to find the health of one object: Healthy,
// Waiting, Progressing or Degraded. *Drift* is a pushed object that is gone, replaced, or changed in a field of ours. *Evidence*
// tells the on-call why: the object's own messages, and that of its newest warning event. A *look* at a Delivery goes through its
// inventory once and publishes the result.
//
// Where to look. deliverypass.go is one look: objectwatches.go and the package objectcache have the records that it compares, drift.go the
// comparison, health.go and healthinputs.go what is read to judge an object, publish.go the write. desiredwatches.go decides which watches
// run, and the package boundedwatch keeps them alive. The package deliveryindex leads from an event to the Deliveries it
// concerns. servedkinds.go waits for kinds that are not served yet. heartbeat.go renews the Membership with facts.go.
//
// The collector writes the status of Deliveries and of the Membership, and nothing else. It marks drift, and the host applies the
// object again: the program that judges does not repair.
//
// Why it is so:
//
// No payload is held. An object arrives as metadata and is trimmed, on arrival, to its UID, its resourceVersion, two digests and a
// flag. That is enough to see drift: a foreign write to a field of ours moves its ownership, and so changes the digest of our
// managedFields entry. Health needs the whole object. It is read when its metadata changed, at most every two seconds, and not
// kept.
//
// A suspicion is confirmed before it is written. Deliveries and objects come through different watches, which are not ordered
// against each other: an object that the host has just applied may arrive before or after the Delivery that records it. So the
// object is read again, after the Delivery was taken from the index. The write carries the resourceVersion of that Delivery: where
// it succeeds, the record did not change while the object was read. Without this every second push would look like drift.
//
// A fact that was read outranks a watch event that is older. What was read is put among the records under its resourceVersion, and
// a late event does not undo it. Otherwise marks would flicker.
//
// When all is well, nothing is written. Kinds without progress of their own are healthy once applied, and have no line. A status
// that would not change is not written. A Delivery's status is written at most once a second, and nothing is read for it sooner. A
// quiet member costs the heartbeat, once a minute, and the watches.
//
// What cannot be read changes nothing: while a watch is not up yet or a member does not answer, the lines stay as they were. Where
// the member refuses to let the collector read an object, its line says so, with the rule that would allow it.
//
// Each struct with a lock guards only its own fields, and holds it for no call to another. What changes is written first and the
// index is asked after it; a Delivery is entered in the index first and compared after that. So one of the two always sees the
// other, and no event is lost between two locks.
package collect
