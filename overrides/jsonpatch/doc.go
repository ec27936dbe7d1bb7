// SPDX-License-Identifier: Apache-2.0

// Package jsonpatch carries out the operations of a JSON patch (RFC 6902) on a decoded object, within a budget.
//
// Words: the *budget* is the work that all operations of one rendering may take together. It is counted in units, so that the
// same patch is refused on every machine or on none.
//
// Why it is so:
//
//   - Operations work on the decoded object rather than on bytes. Integers past 2^53 survive, a Failure can name the value that it
//     found, and a member costs no decoding.
//   - A list operation on a long list moves its items, and a copy can double an object. Only a count over all operations bounds
//     what an author may make the manager do.
//   - add creates metadata, labels and annotations where they are missing, which RFC 6902 does not. Most objects have no
//     annotations, and an override cannot know.
//   - Values of a Secret never appear in a Failure.
//
// ADR 16 says why this is not a library.
package jsonpatch
