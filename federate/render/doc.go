// SPDX-License-Identifier: Apache-2.0

// Package render makes the objects that a member gets: it applies the overrides for the member to the objects of a
// wrapper. The result is canonical JSON in install order, with a digest for each object.
//
// Words: a *rendering* is the result for one member. *Canonical* JSON has sorted keys, no whitespace, no needless
// escapes, and integers as the author wrote them. Digests are of canonical JSON without Fairlead's marks. So a wrapper
// that a person deletes and creates again has the same digests.
//
// A fleet of a thousand members rarely has more than a few different renderings. So members that get the same overrides
// and values share one *Rendering, and renderings that differ in one object share the bytes of all other objects.
// Because of that, a caller must not change a rendering.
//
// If a thousand members all differ in a large object, their renderings would fill the memory of the host. So the
// manager keeps only the digest of a rendering (a *Variant*), and compares it with the digest in the member's Delivery.
// For a push it renders the bytes again from the spec. Concurrent pushes share these bytes.
//
// The install order puts an object before the objects that need it. A Namespace comes before its contents, a CRD before
// its custom resources, and accounts and configuration before workloads. Removal uses the opposite order. The order
// only saves retries: a member refuses an object that comes too early, and the manager tries again.
//
// The targetCSV of spec.upgrade is part of the rendering, as an annotation of the Subscription (ADR 27). So a new
// targetCSV goes out in waves like any other change.
//
// The package is pure. It does not determine whether a kind is namespaced, because each member decides that.
package render
