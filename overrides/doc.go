// SPDX-License-Identifier: Apache-2.0

// Package overrides applies a wrapper's overrides to its objects, for one member at a time. It also finds the faults of a wrapper's spec that
// the CEL rules of the API cannot find.
//
// Words:
//
//   - An override *selects* the members of its field clusters, or every member if it has no such field.
//   - It *targets* those objects of the wrapper that its kind, group and name match.
//   - The *variant* of a member is the list of overrides that select the member, with the values that they take from the
//     member. Members of the same variant get the same objects, byte for byte.
//
// The packages below this one are also used by package federate:
//
//   - selection decides which members a selection selects.
//   - jsonpointer reads JSON pointers.
//   - strictjson reads objects.
//   - jsonpatch carries out RFC 6902 within a budget.
//
// Why it is so:
//
//   - Some fields must not change: identity, owners, finalizers, status, Fairlead's marks. There are too many ways to write a
//     field, so a check of the paths alone would miss changes. Apply compares these fields before and after the overrides.
//     Validate checks the paths as well, so that the author gets the error when writing the wrapper.
//   - A target that matches no object is an error, and so is a label that a member lacks. Without the error, an author
//     would notice a typing error only when a member gets wrong objects.
//   - No error has a value of a Secret: errors end up in status, events and logs.
//
// The package is pure: it has no client and no clock, and does not change its arguments.
package overrides
