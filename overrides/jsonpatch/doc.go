// SPDX-License-Identifier: Apache-2.0

// Package jsonpatch carries out the operations of a JSON patch (RFC 6902) on a decoded object, within a budget.
//
// Words: the *budget* bounds the work of all operations of one rendering together. It is counted in units and not in seconds, so that all
// machines refuse the same patches.
//
// Why it is so:
//
//   - Operations work on the decoded object and not on JSON text. So integers beyond 2^53 stay exact, a Failure can show the
//     value that it found, and no object has to be decoded again for each member.
//   - An operation in a long list moves the items of that list, and a copy can double an object. So a limit on the number of
//     operations would not bound the work that an author can give the manager. A budget does.
//   - Unlike in RFC 6902, add creates metadata, labels and annotations where they are missing. Most objects have no
//     annotations, and the author of an override cannot know which objects have some.
//   - No Failure has a value of a Secret.
//
// ADR 16 explains why Fairlead does not use a library for this.
package jsonpatch
