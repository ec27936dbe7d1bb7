// SPDX-License-Identifier: Apache-2.0

// Package collect observes one member: whether the pushed objects are healthy, whether they have drifted, and the facts
// of the cluster. One Collector observes one member. It runs inside the manager (collector: Host) or in its own process
// (cmd/collector), with the same code.
//
// Words. To *observe* is to watch the metadata of the objects that Deliveries list. To *judge* is to find the health of
// one object: Healthy, Waiting, Progressing or Degraded. *Drift* is a pushed object that is gone, replaced, or changed
// in a field that Fairlead owns. *Evidence* explains a verdict to the on-call: the object's own messages, and its
// newest warning event. A *pass* goes through the inventory of one Delivery once and publishes the result. A *line* is
// one object's entry in the status of the Delivery. A kind *has progress* if its objects need time to become healthy,
// for example a Deployment.
//
// Where to look:
//
//   - deliverypass.go makes a pass.
//   - objectwatches.go and the package objectcache keep the records that a pass compares; drift.go compares them.
//   - health.go and healthinputs.go read the objects that a verdict needs.
//   - publish.go writes the status.
//   - desiredwatches.go decides which watches run, and the package boundedwatch keeps them alive.
//   - The package deliveryindex finds the Deliveries that an event concerns.
//   - servedkinds.go waits for kinds that the member does not serve yet.
//   - heartbeat.go renews the Membership and writes the facts of facts.go.
//
// The collector writes the status of Deliveries and of the Membership, and nothing else. It reports drift, and the host
// applies the object again: the program that judges does not repair.
//
// Why it is so:
//
// The collector holds no payload. An object arrives as metadata. On arrival the collector trims it to its UID, its
// resourceVersion, two digests and a few marks. That is enough to see drift. If another client writes a field of ours,
// the ownership moves, and the digest of our managedFields entry changes. Health needs the whole object. The collector
// reads it when its metadata changed, at most every two seconds, and does not keep it.
//
// The collector confirms a suspicion before it writes it. Deliveries and objects come through different watches without
// a common order: a freshly applied object may arrive before the Delivery that records it, or after. So the collector
// takes the Delivery from the index and then reads the object again. The write carries the resourceVersion of that
// Delivery. If the write succeeds, the record did not change while the collector read the object. Without this every
// second push would look like drift.
//
// What our manager wrote last is no drift. The manager may apply a changed object and die before it records that. Then
// our managedFields entry owns the annotation with the digest of the rendering, and the Delivery records another
// digest. unfinished.go gives the manager 30 s from its apply to the record. After that it reports the object as
// unfinished, with a mark like that of a drift.
//
// The result of a read outranks an older watch event. The collector stores it under its resourceVersion, and a late
// event does not replace it. Otherwise reports of drift would flicker.
//
// When all is well, the collector writes nothing. Kinds without progress are healthy once applied, and have no line.
// The collector does not write a status that would not change. It writes a Delivery's status at most once a second, and
// reads nothing for it sooner. A quiet member costs one heartbeat a minute, and the watches.
//
// An object that cannot be read keeps its line, for example while a watch is not up yet or the member does not answer.
// If the member refuses a read, the line reports that, with the RBAC rule that would allow it.
//
// Each struct with a lock guards only its own fields, and holds the lock during no call to another struct. Order
// prevents lost events between two locks. An event handler first stores the change and then asks the index. A new
// Delivery first enters the index and is then compared. So one of the two always sees the other.
package collect
