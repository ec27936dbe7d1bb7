// SPDX-License-Identifier: Apache-2.0

// Package render makes the objects that a member gets. It applies the overrides for the member to the objects of a
// wrapper. The result is canonical JSON, in install order, and each object has its digest.
//
// Words: a *rendering* is the result for one member. *Canonical* JSON has sorted keys, no whitespace, no escapes that
// are not needed, and its integers as they were written. Digests are of canonical JSON before Fairlead's marks, so that
// a wrapper that is made again renders the same.
//
// Why it is so: a fleet of a thousand members rarely has more than a handful of variants. Members that get the same
// overrides share one *Rendering. Renderings that differ in one object share the bytes of all the others. So a caller
// must not change a rendering.
//
// A thousand members that all differ in a large object would fill the memory of the host. So the host keeps only the
// digest of a rendering (a *Variant*), and compares it with the digests that the members hold. A push makes the bytes
// from the spec again. Pushes at the same time share these bytes.
//
// The install order puts an object before the objects that need it: a namespace before its contents, a definition
// before its resources, identities and configuration before workloads. Removal uses the opposite order. The order saves
// retries; correctness does not depend on it. A member refuses an object that comes too early, and the manager tries
// again.
//
// The package is pure. It knows no scope: each member decides whether a kind is namespaced.
package render
