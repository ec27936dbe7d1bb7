// SPDX-License-Identifier: Apache-2.0

// Package jsonpatch carries out the operations of a JSON patch (RFC 6902) on a decoded object, within a budget.
//
// Words: the *budget* is the work that all operations of one rendering may take together. It is counted in units, so
// that all machines refuse the same patches.
//
// Why it is so:
//
//   - Operations work on the decoded object and not on bytes. So integers past 2^53 survive, a Failure can name the value
//     that it found, and no object is decoded again for each member.
//   - A list operation on a long list moves its items, and a copy can double an object. Only a count over all operations
//     bounds the work that an author can give the manager.
//   - Unlike RFC 6902, add creates metadata, labels and annotations if they are missing. Most objects have no annotations,
//     and the author of an override cannot know which have.
//   - Values of a Secret never appear in a Failure.
//
// ADR 16 explains why Fairlead does not use a library for this.
package jsonpatch
