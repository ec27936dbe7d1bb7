// SPDX-License-Identifier: Apache-2.0

// Package overrides applies a wrapper's overrides to its objects for one member. It decides which overrides select the
// member and in which order they apply, and computes the resulting objects. It also validates a wrapper's spec, as far
// as CEL cannot.
//
// Words: an override *selects* the members of its clusters, or every member if it has no clusters. It *targets* the
// objects of the wrapper that its kind, group and name match. The *variant* of a member is the overrides that select it
// and the values that they take from it. Members of one variant get the same objects, byte for byte.
//
// The packages below this one hold what federate needs as well:
//
//   - selection decides which members a selection selects.
//   - jsonpointer reads JSON pointers.
//   - strictjson reads objects.
//   - jsonpatch carries out RFC 6902 within a budget.
//
// Why it is so:
//
//   - Some fields must not change: identity, owners, finalizers, status, Fairlead's marks. Apply compares them before and
//     after. A check of the paths alone would miss changes, because there are too many ways to write a field. Validate checks
//     the paths as well, so that the author gets the error when writing the wrapper.
//   - A target that matches no object is an error, and so is a label that a member lacks. Otherwise an author would notice
//     a typing error only when it does harm.
//   - Values in a Secret never appear in an error: errors end up in status, events and logs.
//
// The package is pure: values in, values out. It changes nothing that it is given.
package overrides
