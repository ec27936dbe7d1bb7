// SPDX-License-Identifier: Apache-2.0

// Package render makes what a member gets: the objects of a wrapper with the overrides that speak to
// the member laid over them, as canonical JSON, in install order, each with its digest.
//
// Words: a *rendering* is all that, for one member; *canonical* JSON has sorted keys, no whitespace,
// no escapes that are not needed, and its integers as they were written. Digests are of canonical
// JSON before Fairlead's marks, so that a wrapper that is made anew renders the same.
//
// Why it is so: a fleet of a thousand members rarely has more than a handful of variants. Members that
// no override tells apart get the very same *Rendering, and renderings that differ in one object
// share the bytes of all the others. What a caller gets is therefore not its own to change.
//
// A thousand members that all differ in a large object would fill the memory of the host. What is kept of a rendering
// is therefore its digest (a *Variant*), by which members are compared with what they hold; the bytes are made from
// the spec when a push needs them, and shared while one does.
//
// The install order puts first what others need: a namespace before what is in it, a definition
// before its resources, identities and configuration before workloads. Removal goes backwards. It is
// about fewer retries, not about correctness: what comes too early is refused by the member and tried
// again.
//
// The package is pure. It knows no scope: whether a kind is namespaced is for each member to say.
package render
