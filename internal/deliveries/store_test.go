// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheStoreKnowsWhichMembersHoldADelivery(t *testing.T) {
	b := newBench(t)
	west := b.store.Open(connect(t, "west"), nil)
	b.store.Open(connect(t, "north"), nil)
	west.Put(delivery(webIdentity, 1))
	b.there(1)
	if diff := cmp.Diff([]string{"east", "west"}, b.store.Holders(web)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.store.Close(west)
	if diff := cmp.Diff([]string{"east"}, b.store.Holders(web)); diff != "" || b.store.Of("west") != nil {
		t.Errorf("after the connection has ended (-want +got):\n%s", diff)
	}
}

// The manager opens the index of a new connection before it closes that of the old one. The new index has to stay.
func TestClosingAReplacedIndexKeepsTheNewIndex(t *testing.T) {
	b := newBench(t)
	again := b.store.Open(connect(t, "east"), nil)
	b.store.Close(b.Index)
	if b.store.Of("east") != again {
		t.Error("the new index is gone")
	}
}

func TestAChangeOfADeliveryIsReportedOnce(t *testing.T) {
	b := newBench(t)
	var told []Key
	b.store.OnNews(func(key Key) { told = append(told, key) })
	b.there(1)
	b.there(1)
	b.there(2)
	b.Remove(web.Delivery())
	b.Remove(web.Delivery())
	b.Replace()
	if diff := cmp.Diff([]Key{web, web, web}, told); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestARecordIsEmptyWhereNothingIsKnown(t *testing.T) {
	b := newBench(t)
	b.there(1)
	if got := b.store.Record(web, "east"); got.Listed || got.Summary == nil {
		t.Errorf("before the first list: %+v", got)
	}
	b.Replace(delivery(webIdentity, 2))
	if got := b.store.Record(web, "east"); !got.Listed || got.Summary.Generation != 2 {
		t.Errorf("after the first list: %+v", got)
	}
	if got := b.store.Record(web, "west"); got != (Record{}) {
		t.Errorf("of a member without a connection: %+v", got)
	}
}

func TestASubscriberGetsTheChangesOfAllMembers(t *testing.T) {
	b := newBench(t)
	west := b.store.Open(connect(t, "west"), nil)
	later := &bench{}
	b.store.Subscribe(later)
	b.there(1)
	west.Put(delivery(webIdentity, 2))
	want := []string{"east fed.shop.web: 0, 1, news", "west fed.shop.web: 0, 2, news"}
	if diff := cmp.Diff(want, later.calls); diff != "" {
		t.Errorf("the calls of the subscriber (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], b.calls); diff != "" {
		t.Errorf("the calls of the listener of one member (-want +got):\n%s", diff)
	}
}
