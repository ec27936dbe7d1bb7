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

// Of is the digest of some pieces of data, as sha256:HEX. The border between two pieces counts:
// ("ab", "c") and ("a", "bc") differ.
func Of(pieces ...[]byte) string { return SumOf(pieces...).String() }

// Sum is a digest as bytes.
type Sum [sha256.Size]byte

// String is the digest as sha256:HEX.
func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// SumOf is Of, as bytes.
func SumOf(pieces ...[]byte) Sum {
	h := sha256.New()
	WritePieces(h, pieces...)
	return Sum(h.Sum(nil))
}

// WritePieces writes pieces of data so that the border between two of them counts.
func WritePieces(to io.Writer, pieces ...[]byte) {
	var size [8]byte
	for _, piece := range pieces {
		binary.BigEndian.PutUint64(size[:], uint64(len(piece)))
		_, _ = to.Write(size[:]) // hashes and buffers never fail
		_, _ = to.Write(piece)
	}
}

// CanonicalJSON writes a decoded JSON value in the one way in which digests are taken: keys sorted, no
// whitespace, <, > and & as they are, integers whole.
func CanonicalJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
