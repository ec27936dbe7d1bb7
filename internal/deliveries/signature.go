// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// sealPrefix begins each seal, and names the algorithm.
const sealPrefix = "hmac-sha256:"

// Seals makes and verifies the seals of one host's Deliveries on one member. A seal is valid only on that member, so a
// Delivery that was copied to another member has no valid seal there. The zero value has no key: it makes no seal and
// accepts none.
type Seals struct {
	key          []byte
	host, member types.UID
}

// NewSeals returns the Seals of the host with this key and uid, for the member with this uid. If key, host or member is
// empty, it returns the zero value.
func NewSeals(key []byte, host, member types.UID) Seals {
	if len(key) == 0 || host == "" || member == "" {
		return Seals{}
	}
	return Seals{key: key, host: host, member: member}
}

// Sign makes the seal of a Delivery with this wrapper and target; "" without a key.
func (s Seals) Sign(w *v1alpha1.WrapperIdentity, target *v1alpha1.DeliveryTarget) string {
	if len(s.key) == 0 {
		return ""
	}
	if target == nil {
		target = &v1alpha1.DeliveryTarget{}
	}
	mac := hmac.New(sha256.New, s.key)
	var size [8]byte
	for _, piece := range []string{string(s.host), string(s.member), string(w.Kind), w.Namespace, w.Name, string(w.UID),
		strconv.FormatInt(w.Generation, 10), target.Revision, target.Rendering} {
		// Each text is preceded by its length. Without the lengths, "ab","c" and "a","bc" would have the same seal.
		binary.BigEndian.PutUint64(size[:], uint64(len(piece)))
		mac.Write(size[:])
		mac.Write([]byte(piece))
	}
	return sealPrefix + hex.EncodeToString(mac.Sum(nil))
}

// Verify reports whether this host made the seal for this member, this wrapper and this target.
func (s Seals) Verify(seal string, w *v1alpha1.WrapperIdentity, target *v1alpha1.DeliveryTarget) bool {
	return seal != "" && hmac.Equal([]byte(seal), []byte(s.Sign(w, target)))
}
