// SPDX-License-Identifier: Apache-2.0

// Package collect observes one member: whether the pushed objects are healthy, whether they have drifted, and the facts
// of the cluster. One Collector observes one member. It runs inside the manager (collector: Host) or in a process of
// its own (cmd/collector). The code is the same.
//
// Words: to *observe* is to watch the metadata of the objects that Deliveries list. To *judge* is to find the health of
// one object: Healthy, Waiting, Progressing or Degraded; the result is its *verdict*. *Drift* is a pushed object that
// is gone, replaced, or changed in a field that Fairlead owns. *Evidence* is what the collector saw about an object that is
// not healthy: events, failing containers and the ends of their logs (package federate/evidence). An *explanation* is the first
// cause among the object's pods; the object's line has it (package explain). A *pass* goes through the inventory of one Delivery once and
// publishes the result. A *line* is one object's entry in the status of the Delivery. A kind *has progress* if its
// objects need time to become healthy, for example a Deployment.
//
// Where to look:
//
//   - deliverypass.go makes a pass, and pass.go has its lines and its evidence.
//   - objectwatches.go and the package objectcache keep the records that a pass compares; the package drift compares them.
//   - health.go and healthinputs.go read the objects that a verdict needs.
//   - answers.go answers requests for evidence.
//   - publish.go writes the status.
//   - desiredwatches.go decides which watches run, and the package boundedwatch keeps them alive.
//   - The package deliveryindex finds the Deliveries that an event concerns.
//   - servedkinds.go waits for kinds that the member does not serve yet.
//   - heartbeat.go renews the Membership and writes the facts of facts.go.
//
// The collector writes the status of Deliveries and of the Membership, and nothing else. It only reports drift; the
// manager then applies the object again.
//
// How the collector observes, and why:
//
// The collector keeps no content of objects. It watches only their metadata, and trims each object that arrives to its
// uid, its resourceVersion, two digests and a few marks. That is enough to detect drift: if another client writes a
// field of ours, the API server takes the field out of our managedFields entry, and the digest of that entry changes.
// Health needs the whole object. The collector reads the object when its metadata changed, at most every two seconds,
// and does not keep the object.
//
// The collector confirms drift by a read before it reports the drift. Deliveries and objects come through different
// watches without a common order: an object that was just applied may arrive before or after the Delivery that records
// it. So the collector takes the Delivery from the index, and then reads the object again. It writes the status with
// the resourceVersion of that Delivery. If the write succeeds, the Delivery did not change while the collector read the
// object. Without this check, the collector would report drift after many pushes.
//
// An object whose last writer is our manager has not drifted. But the manager may apply a new rendering of an object, and end before it
// records the apply. In that case our managedFields entry owns the annotation with the digest of the rendering, and the Delivery records
// another digest. The manager has 30 s from the apply to the record (package drift). After that the collector reports the object as
// unfinished, in a line with a drift.
//
// The result of a read replaces an older watch event. The collector stores the result with its resourceVersion, so that
// a late event does not replace it. If a late event replaced it, the collector would report drift and withdraw the
// report again and again.
//
// While all objects are healthy and have not drifted, the collector writes no status. Kinds without progress are
// healthy once applied, and have no line. The collector does not write a status that would not change. It writes a
// Delivery's status at most once a second, and begins no pass before the next write is allowed. A member where nothing
// changes costs one heartbeat a minute, and the watches.
//
// The collector remembers evidence only until the status has it. After that, it takes the evidence from the status: a pass that reads no
// new evidence keeps the evidence in the status, also right after a start of the collector.
//
// A person can ask for evidence about an object that is healthy: the Delivery then has a request. The collector answers it every five
// seconds until it expires (answers.go). In the status the answers have a field of their own, so they do not replace the evidence about
// unhealthy objects.
//
// If the collector cannot read an object, the object's line stays, for example while a watch has not begun or the
// member does not answer. If the member refuses a read, the line names the RBAC rule that would allow the read.
//
// Each struct with a lock guards only its own fields, and does not hold the lock while it calls another struct. The
// order of steps prevents lost events between two locks. An event handler first stores the change and then asks the
// index. A new Delivery first enters the index and is then compared with the stored objects. So either the handler
// finds the Delivery, or the comparison finds the stored change.
package collect
