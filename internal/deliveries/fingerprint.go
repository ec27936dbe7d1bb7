// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Fingerprint is the part of an inventory that the host keeps in memory: which objects it lists, in which order, and the rendering and the uid of
// each. It tells which entries a new rendering changes, so that the host need not read the Delivery. It has 8 bytes for the list,
// and for each entry 8 bytes for the rendering and 16 for the uid. Each process hashes with its own random seed. So the author of
// a wrapper cannot choose names whose hashes are equal.
//
// It is "" if an entry is not Applied, is adopted or has no uid. It is also "" for no entries, or more than maxFingerprinted. The
// host then reads the Delivery before it writes.
type Fingerprint string

const (
	maxFingerprinted = 16
	hashSize         = 8
	uidSize          = 16
	entrySize        = hashSize + uidSize
)

var hashSeed = maphash.MakeSeed()

// fingerprintOf makes the fingerprint of an inventory.
func fingerprintOf(inventory []v1alpha1.InventoryEntry) Fingerprint {
	if len(inventory) == 0 || len(inventory) > maxFingerprinted {
		return ""
	}
	is := binary.BigEndian.AppendUint64(make([]byte, 0, hashSize+entrySize*len(inventory)), hashOfList(inventory))
	for i := range inventory {
		e := &inventory[i]
		if e.State != v1alpha1.EntryApplied || e.UID == "" || e.Adopted != "" {
			return ""
		}
		is = binary.BigEndian.AppendUint64(is, maphash.String(hashSeed, e.Rendering))
		is = appendUID(is, e.UID)
	}
	return Fingerprint(is)
}

// Differing are the indexes of the entries whose rendering is not the one in the fingerprint. ok is false when the inventory lists
// other objects than the fingerprint, or lists them in another order.
func (f Fingerprint) Differing(inventory []v1alpha1.InventoryEntry) (differing []int, ok bool) {
	if len(inventory) == 0 || len(f) != hashSize+entrySize*len(inventory) || f.hashAt(0) != hashOfList(inventory) {
		return nil, false
	}
	for i := range inventory {
		if f.hashAt(hashSize+entrySize*i) != maphash.String(hashSeed, inventory[i].Rendering) {
			differing = append(differing, i)
		}
	}
	return differing, true
}

// UID is the uid of entry i; "" when the fingerprint does not have it, because the member's API server does not use UUIDs.
func (f Fingerprint) UID(i int) types.UID {
	from := hashSize + entrySize*i + hashSize
	if i < 0 || len(f) < from+uidSize {
		return ""
	}
	packed := f[from : from+uidSize]
	if packed == noUID {
		return ""
	}
	return unpackUID([]byte(packed))
}

func (f Fingerprint) hashAt(from int) uint64 {
	return binary.BigEndian.Uint64([]byte(f[from : from+hashSize]))
}

// noUID stands for a uid that is no UUID.
const noUID = Fingerprint("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")

// appendUID appends the 16 bytes of a UUID, or those of noUID.
func appendUID(to []byte, uid types.UID) []byte {
	packed, err := hex.DecodeString(strings.ReplaceAll(string(uid), "-", ""))
	if err != nil || len(packed) != uidSize || unpackUID(packed) != uid {
		return append(to, noUID...)
	}
	return append(to, packed...)
}

// unpackUID is the usual text of the 16 bytes of a UUID.
func unpackUID(packed []byte) types.UID {
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", packed[:4], packed[4:6], packed[6:8], packed[8:10], packed[10:]))
}

// hashOfList is the hash of the objects that an inventory lists.
func hashOfList(inventory []v1alpha1.InventoryEntry) uint64 {
	hash := maphash.Hash{}
	hash.SetSeed(hashSeed)
	for i := range inventory {
		for _, piece := range []string{inventory[i].Group, inventory[i].Resource, inventory[i].Kind, inventory[i].Name} {
			// The length goes first, so that no text can move from one piece to the next under the same hash.
			maphash.WriteComparable(&hash, len(piece))
			_, _ = hash.WriteString(piece) // never fails
		}
	}
	return hash.Sum64()
}
