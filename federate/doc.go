// SPDX-License-Identifier: Apache-2.0

// Package federate holds what every station of the flow has to agree on: the marks by which a pushed
// object is known again, the digests that are compared instead of payloads, and the names that host
// and member both derive.
//
// Words: a *rendering* is the objects of a revision with the overrides for one member laid over them;
// its digest, and each object's, is taken before the marks, so that a wrapper that is made anew
// renders the same. *Ours* is an object that carries the wrapper's uid as a label and an annotation
// that names this very object: controllers copy labels to children, so a label alone proves nothing.
//
// Why it is so: push writes these marks and collect reads them, and the two must never import each
// other. What both need therefore lives here, and is pure.
package federate
