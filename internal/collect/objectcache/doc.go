// SPDX-License-Identifier: Apache-2.0

// Package objectcache keeps, for the collector, one Record for each object that it watches, grouped by resource.
//
// Words: a *Record* is all that the collector keeps of an object: no content, but enough to detect drift. A *Resource*
// has the records of one watched resource, for example configmaps, and the state of its watch. A *Sighting* is what the
// cache has about one object at one moment.
//
// Records come from watches, and from reads of single objects. The result of a read can be newer than the next event of
// the watch. So Put stores a record only if the cache has no newer one. And if a read did not find an object, a late
// event of the watch does not bring its record back. Otherwise the collector would report the same drift, withdraw the
// report, and report it again.
package objectcache
