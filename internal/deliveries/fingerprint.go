// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Fingerprint is what the host remembers of an inventory: which objects it lists, in which order, and the rendering of each. It
// tells which entries a new rendering changes, so that the host need not read the Delivery. It has 8 bytes for the list and 8
// bytes for each entry. The hashes are of this process only, so that the author of a wrapper cannot choose names whose hashes
// are equal.
//
// It is "" for an inventory that the host reads before it writes: one with an entry that is not Applied or is adopted, and one
// with no entry or more than maxFingerprinted.
type Fingerprint string

const (
	maxFingerprinted = 16
	hashSize         = 8
)

var hashSeed = maphash.MakeSeed()

// fingerprintOf makes the fingerprint of an inventory.
func fingerprintOf(inventory []v1alpha1.InventoryEntry) Fingerprint {
	if len(inventory) == 0 || len(inventory) > maxFingerprinted {
		return ""
	}
	is := binary.BigEndian.AppendUint64(make([]byte, 0, hashSize*(1+len(inventory))), hashOfList(inventory))
	for i := range inventory {
		e := &inventory[i]
		if e.State != v1alpha1.EntryApplied || e.UID == "" || e.Adopted != "" {
			return ""
		}
		is = binary.BigEndian.AppendUint64(is, maphash.String(hashSeed, e.Rendering))
	}
	return Fingerprint(is)
}

// Differing are the indexes of the entries whose rendering is not the remembered one. ok is false when the inventory lists other
// objects than the remembered one, or lists them in another order.
func (f Fingerprint) Differing(inventory []v1alpha1.InventoryEntry) (differing []int, ok bool) {
	if len(inventory) == 0 || len(f) != hashSize*(1+len(inventory)) || f.at(0) != hashOfList(inventory) {
		return nil, false
	}
	for i := range inventory {
		if f.at(1+i) != maphash.String(hashSeed, inventory[i].Rendering) {
			differing = append(differing, i)
		}
	}
	return differing, true
}

func (f Fingerprint) at(i int) uint64 {
	return binary.BigEndian.Uint64([]byte(f[hashSize*i : hashSize*(i+1)]))
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
