// SPDX-License-Identifier: Apache-2.0

// Package overrides applies a wrapper's overrides to its objects for one member: which overrides select the member, in which
// order they apply, and what the objects look like then. It also validates a wrapper's spec, as far as CEL cannot.
//
// Words: an override *selects* the members of its clusters (every member, if it has none). It *targets* the objects of the
// wrapper that its kind, group and name match. The *variant* of a member is the overrides that select it and the values that
// they take from it. Members of one variant get the same objects, byte for byte.
//
// Packages below hold what federate needs as well: selection (which members), jsonpointer, strictjson (reading objects) and
// jsonpatch (RFC 6902 with its budget).
//
// Why it is so:
//
//   - The fields that overrides must not change (identity, owners, finalizers, status, Fairlead's marks) are compared before and
//     after. Looking at paths alone would miss some, because there are too many ways to write a field. Validate looks at the
//     paths as well, so that the author gets the error at once.
//   - A target that matches no object is an error, and so is a label that a member lacks. A typing error that silently
//     changes nothing would be found only when it does harm.
//   - Values in a Secret never appear in an error: errors end up in status, events and logs.
//
// The package is pure: values in, values out. It changes nothing that it is given.
package overrides
