// SPDX-License-Identifier: Apache-2.0

// Package digest computes the digests that Fairlead compares instead of contents: of a rendering, of one object, of a
// revision.
//
// Equal values must have equal digests, so CanonicalJSON encodes a value in one fixed form.
package digest
