// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Of returns the digest of several pieces of data, as sha256:HEX. It depends on where one piece ends and the next
// begins: ("ab", "c") and ("a", "bc") have different digests.
func Of(pieces ...[]byte) string { return SumOf(pieces...).String() }

// Sum is a digest as bytes.
type Sum [sha256.Size]byte

// String returns the digest as sha256:HEX.
func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// SumOf returns the same digest as Of, in bytes.
func SumOf(pieces ...[]byte) Sum {
	h := sha256.New()
	WritePieces(h, pieces...)
	return Sum(h.Sum(nil))
}

// SumOfJSON returns the SHA-256 of a value in the encoding of package encoding/json. SumOf returns another digest for the same bytes. value
// must be of a type that always has an encoding, for example a status with only texts, numbers and times. A value without an encoding has
// the zero Sum.
func SumOfJSON(value any) Sum {
	encoded, err := json.Marshal(value)
	if err != nil {
		return Sum{}
	}
	return sha256.Sum256(encoded)
}

// WritePieces writes pieces of data, each after its length, so that a digest of the output depends on where a piece
// ends.
func WritePieces(to io.Writer, pieces ...[]byte) {
	var size [8]byte
	for _, piece := range pieces {
		binary.BigEndian.PutUint64(size[:], uint64(len(piece)))
		_, _ = to.Write(size[:]) // callers pass hashes and buffers, whose Write never fails
		_, _ = to.Write(piece)
	}
}

// CanonicalJSON encodes a decoded JSON value in one fixed form, so that equal values have equal digests. Keys are
// sorted, there is no whitespace, <, > and & are not escaped, and integers stay integers.
func CanonicalJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
