// SPDX-License-Identifier: Apache-2.0

// Package overrides tailors wrapped objects for a member: which overrides speak to it, in which
// order, and what the objects look like once they have spoken.
//
// Words: an override *speaks to* a member that its clusters select (all of them when it names none);
// it *targets* the objects of the wrapper that its kind, group and name match. A member's *variant*
// is all that tells it apart from other members here: the overrides that speak to it and the values
// that they take from it. Members of one variant get the same objects, byte for byte.
//
// Why it is so:
//
//   - Operations work on the decoded object rather than on bytes. Integers past 2^53 survive that way,
//     an error can name the value that it found, and a member costs no decoding.
//   - What overrides must not touch (identity, owners, finalizers, status, Fairlead's marks) is
//     compared before and after, not looked up in paths: there are too many ways to write a field.
//     Validate looks at the paths as well, only so that an author hears of it at once.
//   - A target that matches nothing is an error, and so is a label that a member lacks: a typing error
//     that silently changes nothing is found on the day it hurts.
//   - Values in a Secret never appear in an error: errors end up in status, events and logs.
//
// The package is pure: values in, values out, and nothing that it is given is changed.
package overrides
