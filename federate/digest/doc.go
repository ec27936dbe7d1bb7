// SPDX-License-Identifier: Apache-2.0

// Package digest computes the digests that are compared instead of payloads: of a rendering, of one object, of a revision.
//
// A digest is only as stable as the bytes that it is taken of. CanonicalJSON therefore writes a value in one way only.
package digest
