// SPDX-License-Identifier: Apache-2.0

// Package digest computes the digests that Fairlead compares instead of payloads: of a rendering, of one object, of a
// revision.
//
// A digest is only as stable as the bytes of which it is taken. CanonicalJSON therefore writes a value in one form
// only.
package digest
