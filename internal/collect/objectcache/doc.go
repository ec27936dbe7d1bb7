// SPDX-License-Identifier: Apache-2.0

// Package objectcache holds what the collector keeps of the objects that Deliveries list: a Record each, by resource.
//
// Words. A *Record* is all that is kept of an object: no payload, but enough to see drift. A *Resource* holds the records of one
// watched resource, and the state of its watch. A *Sighting* is what is known of one object at a moment.
//
// What was read outranks a watch event that is older: Put takes a record unless a newer one is there, and an object that was read
// to be gone does not come back by a late event. Otherwise marks of drift would flicker.
package objectcache
