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

// Of is the digest of some pieces of data, as sha256:HEX. The borders between the pieces count: ("ab", "c") and ("a",
// "bc") have different digests.
func Of(pieces ...[]byte) string { return SumOf(pieces...).String() }

// Sum is a digest as bytes.
type Sum [sha256.Size]byte

// String is the digest as sha256:HEX.
func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// SumOf is Of, but returns bytes.
func SumOf(pieces ...[]byte) Sum {
	h := sha256.New()
	WritePieces(h, pieces...)
	return Sum(h.Sum(nil))
}

// WritePieces writes pieces of data so that the borders between them count.
func WritePieces(to io.Writer, pieces ...[]byte) {
	var size [8]byte
	for _, piece := range pieces {
		binary.BigEndian.PutUint64(size[:], uint64(len(piece)))
		_, _ = to.Write(size[:]) // hashes and buffers never fail
		_, _ = to.Write(piece)
	}
}

// CanonicalJSON writes a decoded JSON value in the one form of which digests are taken. Keys are sorted, there is no
// whitespace, <, > and & are not escaped, and integers stay whole.
func CanonicalJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
