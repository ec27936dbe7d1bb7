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

// Fingerprint is the part of a Delivery's inventory that the host keeps in memory. With it the host finds out which
// entries a new rendering changes, without reading the Delivery. It consists of
//
//   - 8 bytes: a hash of the list of objects;
//   - for each entry 8 bytes: a hash of its rendering;
//   - for each entry 16 bytes: its uid.
//
// The hashes depend on a random seed of the process, so that the author of a wrapper cannot choose texts whose hashes
// are equal.
//
// The Fingerprint is "" if an entry is not Applied, is adopted or has no uid, or if the inventory has no entry or more
// than maxFingerprinted. The host then has to read the Delivery before it writes the Delivery.
type Fingerprint string

const (
	// maxFingerprinted is the largest number of entries in an inventory that has a fingerprint.
	maxFingerprinted = 16
	// hashSize is the size of a hash, in bytes.
	hashSize = 8
	// uidSize is the size of a uid, in bytes.
	uidSize = 16
	// entrySize is the size of the part for one entry, in bytes.
	entrySize = hashSize + uidSize
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

// Difference is how an inventory differs from the one of a Fingerprint. It has indexes of the new inventory.
type Difference struct {
	// Changed are the entries whose rendering is another one.
	Changed []int
	// Added and AddedEnd bound the entries that are new: Added <= i < AddedEnd. They are equal if no entry is new.
	Added, AddedEnd int
}

// IsAdded reports whether entry i is new.
func (d Difference) IsAdded(i int) bool { return d.Added <= i && i < d.AddedEnd }

// Compare compares an inventory with the one of the fingerprint. ok is false if the inventory lacks an entry of the fingerprint, has
// them in another order, has new entries at several places, or has more than maxFingerprinted entries. The fingerprint has only one
// hash of the whole list, so Compare tries each place where the new entries may be.
func (f Fingerprint) Compare(inventory []v1alpha1.InventoryEntry) (d Difference, ok bool) {
	added := len(inventory) - f.len()
	if f == "" || added < 0 || len(inventory) > maxFingerprinted {
		return Difference{}, false
	}
	places := f.len()
	if added == 0 {
		places = 0 // nothing is new, wherever it would be
	}
	for d.Added = 0; d.Added <= places; d.Added++ {
		d.AddedEnd = d.Added + added
		if f.hashAt(0) == hashOfList(inventory[:d.Added], inventory[d.AddedEnd:]) {
			d.Changed = f.changed(inventory, d)
			return d, true
		}
	}
	return Difference{}, false
}

// changed returns the indexes of those entries whose rendering is not the one in the fingerprint. It leaves out the new entries.
func (f Fingerprint) changed(inventory []v1alpha1.InventoryEntry, d Difference) (changed []int) {
	for i := range inventory {
		was := i
		switch {
		case d.IsAdded(i):
			continue
		case i >= d.AddedEnd:
			was -= d.AddedEnd - d.Added
		}
		if f.hashAt(hashSize+entrySize*was) != maphash.String(hashSeed, inventory[i].Rendering) {
			changed = append(changed, i)
		}
	}
	return changed
}

// len returns the number of entries.
func (f Fingerprint) len() int { return max(0, len(f)-hashSize) / entrySize }

// UID returns the uid of entry i; "" if the fingerprint does not have it, because the uid is not a UUID.
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

// noUID stands in the fingerprint for a uid that is not a UUID.
const noUID = Fingerprint("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")

// appendUID appends the 16 bytes of a UUID; noUID if uid is not a UUID.
func appendUID(to []byte, uid types.UID) []byte {
	packed, err := hex.DecodeString(strings.ReplaceAll(string(uid), "-", ""))
	if err != nil || len(packed) != uidSize || unpackUID(packed) != uid {
		return append(to, noUID...)
	}
	return append(to, packed...)
}

// unpackUID returns the usual text of a UUID from its 16 bytes.
func unpackUID(packed []byte) types.UID {
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", packed[:4], packed[4:6], packed[6:8], packed[8:10], packed[10:]))
}

// hashOfList returns the hash of the objects that the parts of an inventory list, in their order.
func hashOfList(parts ...[]v1alpha1.InventoryEntry) uint64 {
	hash := maphash.Hash{}
	hash.SetSeed(hashSeed)
	for _, part := range parts {
		for i := range part {
			for _, piece := range []string{part[i].Group, part[i].Resource, part[i].Kind, part[i].Name} {
				// Each text is preceded by its length. Without the lengths, "ab","c" and "a","bc" would have the same hash.
				maphash.WriteComparable(&hash, len(piece))
				_, _ = hash.WriteString(piece) // never fails
			}
		}
	}
	return hash.Sum64()
}
