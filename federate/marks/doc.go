// SPDX-License-Identifier: Apache-2.0

// Package marks holds the labels and annotations that every pushed object carries. It also holds the names that the
// host and a member both derive from a wrapper.
//
// Words: an object is *ours* if it carries the wrapper's uid as a label, and an annotation that names this very object.
// Controllers copy labels to children, so the label alone proves nothing.
//
// Why it is so: push writes these marks and collect reads them, and the two must never import each other.
package marks
