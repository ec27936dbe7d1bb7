// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// wordy is a Delivery of a member that keeps to no schema: every text in it is so long.
func wordy(name string, length int) *v1alpha1.Delivery {
	text := strings.Repeat("x", length)
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Seal: text, Target: &v1alpha1.DeliveryTarget{Revision: text, Rendering: text},
		Wrapper: v1alpha1.WrapperIdentity{Kind: "Federated", Namespace: text, Name: name + text, UID: types.UID(text)}}}
	d.Name, d.UID = name, types.UID(text)
	for range 1000 {
		d.Spec.Inventory = append(d.Spec.Inventory, v1alpha1.InventoryEntry{Kind: "Secret", Name: text, State: v1alpha1.EntryApplied})
		d.Status.Objects = append(d.Status.Objects, v1alpha1.ObjectStatus{Kind: text, Name: text, Reason: text, Message: text,
			Drift: &v1alpha1.Drift{Manager: text, Fields: strings.Split(strings.Repeat(text+",", 20), ",")}})
	}
	return d
}

func TestOfADeliveryNoMoreIsKeptThanItsSchemaAllows(t *testing.T) {
	small, large := sight(wordy("a", 2000)).seen.weight(), sight(wordy("a", 20_000)).seen.weight()
	// 256 objects with 1 KiB of message and 16 fields of a quarter.
	if small != large || large > maxObjects*(8<<10) {
		t.Errorf("%d of texts of 2000 bytes, %d of 20,000", small, large)
	}
}

func TestWhatIsKeptOfAMemberIsSummedUp(t *testing.T) {
	b := newBench(t)
	n := 0
	for ; n < 1000; n++ {
		s := sight(wordy(fmt.Sprint("d", n), 1000))
		if !b.hasRoomFor(s) {
			break
		}
		b.observe(s)
		b.observe(s) // the same one weighs once
	}
	if n < 10 || b.kept > maxSeen {
		t.Fatalf("%d Deliveries of %d MiB", n, b.kept>>20)
	}
	if another := sight(wordy("d0", 999)); !b.hasRoomFor(another) {
		t.Error("what is there cannot become smaller")
	}
	b.noteUnlisted(errTooMuch)
	if got := b.pusher.Pair(web, "east").Unlisted; !strings.Contains(got, "64 MiB") {
		t.Errorf("nobody is told: %q", got)
	}
	for i := range n {
		b.vanish(fmt.Sprint("d", i))
	}
	b.pusher.Want("east", wish("1"))
	b.woken = nil
	if b.listed(); !slices.Contains(b.woken, web) {
		t.Error("nobody is told that there is room again")
	}
	if b.kept != 0 || b.pusher.Pair(web, "east").Unlisted != "" {
		t.Errorf("%d is kept of nothing, %q", b.kept, b.pusher.Pair(web, "east").Unlisted)
	}
}
