// SPDX-License-Identifier: Apache-2.0

package federate

import (
	"crypto/sha256"
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Digest is the digest of some pieces of data, as sha256:HEX. The border between two pieces counts:
// ("ab", "c") and ("a", "bc") differ.
func Digest(pieces ...[]byte) string { return SumOf(pieces...).String() }

// Sum is a digest as bytes.
type Sum [sha256.Size]byte

// String is the digest as sha256:HEX.
func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// SumOf is Digest, as bytes.
func SumOf(pieces ...[]byte) Sum {
	h := sha256.New()
	writePieces(h, pieces...)
	return Sum(h.Sum(nil))
}

// FieldsDigest is the digest of the fields that Fairlead owns in an object: of the fieldsV1 of our
// managedFields entry, not of its time. It changes when somebody else writes a field of ours, since
// ownership then moves, and comes back when we apply again. It is empty when we own nothing.
func FieldsDigest(entries []metav1.ManagedFieldsEntry) string {
	entry := Fields(entries)
	if entry == nil {
		return ""
	}
	return Digest(entry.GetRawBytes())
}

// Fields is the set of fields that Fairlead owns in an object, nil when it owns none.
func Fields(entries []metav1.ManagedFieldsEntry) *metav1.FieldsV1 {
	for i := range entries {
		e := &entries[i]
		if e.Manager == v1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply &&
			e.Subresource == "" && e.FieldsV1 != nil {
			return e.FieldsV1
		}
	}
	return nil
}
