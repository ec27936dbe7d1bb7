// SPDX-License-Identifier: Apache-2.0

// Package marks has the labels and annotations that every pushed object carries. It also has the names that the host
// and a member both compute from a wrapper's name.
//
// Words: an object is *ours* if it has the wrapper's uid as a label, and an annotation that names the object itself.
// The label alone proves nothing, because controllers copy labels to the objects that they create.
//
// The packages push and collect must not import each other. Push writes these marks and collect reads them, so the
// marks are in a package that both import.
package marks
