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

// sealPrefix is the name of the algorithm, with which each seal begins.
const sealPrefix = "hmac-sha256:"

// Seals signs the Deliveries of one host on one member, and verifies them. A seal is valid on that member only, so a Delivery
// that was copied from another member does not pass. The zero value has no key: it signs nothing, and no seal is valid.
type Seals struct {
	key          []byte
	host, member types.UID
}

// NewSeals makes the seals of the host with this key and uid on the member with this uid. When one of the three is empty, it
// returns the zero value.
func NewSeals(key []byte, host, member types.UID) Seals {
	if len(key) == 0 || host == "" || member == "" {
		return Seals{}
	}
	return Seals{key: key, host: host, member: member}
}

// Sign makes the seal of a Delivery with this wrapper and target. Without a key the seal is "".
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
		// The length goes first, so that no text can move from one piece to the next under the same seal.
		binary.BigEndian.PutUint64(size[:], uint64(len(piece)))
		mac.Write(size[:])
		mac.Write([]byte(piece))
	}
	return sealPrefix + hex.EncodeToString(mac.Sum(nil))
}

// Verify reports whether this host made the seal, for this member, wrapper and target.
func (s Seals) Verify(seal string, w *v1alpha1.WrapperIdentity, target *v1alpha1.DeliveryTarget) bool {
	return seal != "" && hmac.Equal([]byte(seal), []byte(s.Sign(w, target)))
}
