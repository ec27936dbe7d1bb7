// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
)

const (
	// MaxAuthor is the longest name of an author, in bytes.
	MaxAuthor = 256
	// attestation is the beginning of each AnnotationAuthor. It names the algorithm of the digest that follows.
	attestation = "hmac-sha256:"
)

// author is the content of AnnotationAuthor: hmac-sha256:HEX NAME.
type author struct {
	mac  [sha256.Size]byte
	name string
}

// Attest returns a value for AnnotationAuthor, which proves that the user of this name wrote this content of a wrapper.
// It returns "" if isAuthorName refuses the name.
//
// The content may hold a Secret, so the digest depends on the key: without the key, a reader can neither check a guess
// of the Secret's value nor forge an AnnotationAuthor. The digest also depends on the wrapper, so Author refuses a
// value that was copied from another wrapper.
func (k *HistoryKey) Attest(kind v1alpha1.WrapperKind, wrapper types.NamespacedName, r Revision, name string) string {
	if k == nil || wrapper.Name == "" || !isAuthorName(name) {
		return ""
	}
	return author{mac: k.authorMAC(kind, wrapper, r, name), name: name}.String()
}

// Author returns the name of the user who wrote this content of a wrapper, from the value of AnnotationAuthor. It
// returns "" unless Attest made that value for this content and this wrapper with this key.
func (k *HistoryKey) Author(kind v1alpha1.WrapperKind, wrapper types.NamespacedName, r Revision, value string) string {
	a, ok := parseAuthor(value)
	if k == nil || !ok {
		return ""
	}
	wanted := k.authorMAC(kind, wrapper, r, a.name)
	if !hmac.Equal(wanted[:], a.mac[:]) {
		return ""
	}
	return a.name
}

func (k *HistoryKey) authorMAC(kind v1alpha1.WrapperKind, wrapper types.NamespacedName, r Revision, name string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, k.authors)
	digest.WritePieces(mac, []byte(kind), []byte(wrapper.Namespace), []byte(wrapper.Name), []byte(name), r.Data)
	return [sha256.Size]byte(mac.Sum(nil))
}

func (a author) String() string { return attestation + hex.EncodeToString(a.mac[:]) + " " + a.name }

// parseAuthor reads a value of AnnotationAuthor. It accepts exactly what String writes.
func parseAuthor(value string) (author, bool) {
	a := author{}
	sum, name, found := strings.Cut(value, " ")
	sum, known := strings.CutPrefix(sum, attestation)
	if !found || !known || len(sum) != hex.EncodedLen(len(a.mac)) || !isAuthorName(name) {
		return author{}, false
	}
	if _, err := hex.Decode(a.mac[:], []byte(sum)); err != nil || hex.EncodeToString(a.mac[:]) != sum {
		return author{}, false
	}
	a.name = name
	return a, true
}

// isAuthorName reports whether a name has 1 to MaxAuthor bytes, is valid UTF-8, and has no control or formatting
// characters.
func isAuthorName(name string) bool {
	return name != "" && len(name) <= MaxAuthor && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)
	})
}
