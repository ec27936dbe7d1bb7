// SPDX-License-Identifier: Apache-2.0

// Package objectcache holds what the collector keeps of the objects that Deliveries list: one Record for each object,
// by resource.
//
// Words. A *Record* is all that the collector keeps of an object: no payload, but enough to see drift. A *Resource*
// holds the records of one watched resource, and the state of its watch. A *Sighting* is the known state of one object
// at one time.
//
// A read outranks an older watch event. Put stores a record unless the cache has a newer one. After a read did not find
// an object, a late event does not bring it back. Otherwise the collector would report and withdraw the same drift
// repeatedly.
package objectcache
