// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// wordy returns a Delivery as a member without the schema may send it. Each of its texts has this length, in bytes.
func wordy(name string, length int) *v1alpha1.Delivery {
	text := strings.Repeat("x", length)
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Seal: text, Target: &v1alpha1.DeliveryTarget{Revision: text, Rendering: text},
		Wrapper: v1alpha1.WrapperIdentity{Kind: "Federated", Namespace: text, Name: name + text, UID: types.UID(text)}}}
	d.Name, d.UID = name, types.UID(text)
	for range 1000 {
		d.Status.Subscriptions = append(d.Status.Subscriptions, v1alpha1.ObservedSubscription{Name: text, TargetCSV: text, InstalledCSV: text, OfferedCSV: text})
		d.Spec.Inventory = append(d.Spec.Inventory, v1alpha1.InventoryEntry{Kind: "Secret", Name: text, State: v1alpha1.EntryApplied})
		d.Status.Objects = append(d.Status.Objects, v1alpha1.ObjectStatus{Kind: text, Name: text, Reason: text, Message: text,
			Drift: &v1alpha1.Drift{Manager: text, Fields: strings.Split(strings.Repeat(text+",", 20), ",")}})
	}
	return d
}

func TestOfADeliveryNoMoreIsKeptThanItsSchemaAllows(t *testing.T) {
	small, large := newDecoded(wordy("a", 2000)).summary.weight(), newDecoded(wordy("a", 20_000)).summary.weight()
	// By the schema, a status has at most 256 objects, each with 1 KiB of message and 16 fields of 256 bytes.
	if small != large || large > maxObjects*(8<<10) {
		t.Errorf("%d of texts of 2000 bytes, %d of 20,000", small, large)
	}
}

func TestWhatIsKeptOfAMemberIsSummedUp(t *testing.T) {
	b := newBench(t)
	b.Replace()
	n := 0
	for ; n < 1000; n++ {
		e := newDecoded(wordy(fmt.Sprint("d", n), 1000))
		if !b.summaries.hasRoomFor(e.Name, e.summary) {
			break
		}
		b.sink.put(e)
		b.sink.put(e) // storing the same Delivery again adds no weight
	}
	if n < 10 || b.summaries.weight > maxWeight {
		t.Fatalf("%d Deliveries of %d MiB", n, b.summaries.weight>>20)
	}
	if another := newDecoded(wordy("d0", 999)); !b.summaries.hasRoomFor(another.Name, another.summary) {
		t.Error("a Delivery that is known cannot become smaller")
	}
	b.calls = nil
	b.sink.noteUnreadable(errTooMuch.Error())
	b.sink.noteUnreadable(errTooMuch.Error())
	if got := b.summaries.record(web.Delivery()).Unreadable; !strings.Contains(got, "64 MiB") {
		t.Errorf("the record does not give the reason: %q", got)
	}
	b.Replace()
	if diff := cmp.Diff([]string{"east unreadable", "east readable again"}, slices.DeleteFunc(b.calls, func(s string) bool { return !strings.Contains(s, "readable") })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b.summaries.weight != 0 || b.summaries.record(web.Delivery()).Unreadable != "" {
		t.Errorf("without Deliveries the weight is %d, unreadable because %q", b.summaries.weight, b.summaries.record(web.Delivery()).Unreadable)
	}
}
