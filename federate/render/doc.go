// SPDX-License-Identifier: Apache-2.0

// Package render makes the objects that a member gets. It applies the overrides for the member to the objects of a
// wrapper. The result is canonical JSON, in install order, and each object has its digest.
//
// Words: a *rendering* is the result for one member. *Canonical* JSON has sorted keys, no whitespace, no needless
// escapes, and integers as the author wrote them. Digests are of canonical JSON without Fairlead's marks. So a wrapper
// that is deleted and made again renders the same.
//
// Why it is so: a fleet of a thousand members rarely has more than a handful of variants. Members that get the same
// overrides share one *Rendering. Renderings that differ in one object share the bytes of all other objects. So a
// caller must not change a rendering.
//
// A thousand members that all differ in a large object would fill the memory of the host. So the host keeps only the
// digest of a rendering (a *Variant*), and compares it with the digests that the members hold. A push makes the bytes
// from the spec again. Concurrent pushes share these bytes.
//
// The install order puts an object before the objects that need it. A namespace comes before its contents, and a CRD
// before its resources. Identities and configuration come before workloads. Removal uses the opposite order. The order
// saves retries, but correctness does not depend on it: a member refuses an object that comes too early, and the
// manager tries again.
//
// The target of spec.upgrade is part of the rendering: an annotation of the Subscription (ADR 27). So a new target goes
// out in waves like any other change.
//
// The package is pure. It does not know whether a kind is namespaced: that is up to each member.
package render
