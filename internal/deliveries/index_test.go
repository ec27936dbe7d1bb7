// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

var (
	webIdentity = v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "w", Generation: 1}
	web         = KeyOf(webIdentity)
)

// bench is an index without a connection to its member. The test puts Deliveries into the index. The field calls has
// the calls that a listener got.
type bench struct {
	*Index
	store *Store
	clock *clocktesting.FakeClock
	calls []string
}

var _ Listener = &bench{}

func (b *bench) Changed(x *Index, c Change) {
	news := map[bool]string{true: "news", false: "nothing new"}[c.IsNews]
	b.calls = append(b.calls, fmt.Sprintf("%s %s: %d, %d, %s", x.Member(), c.Name, generation(c.Was), generation(c.Is), news))
}

func (b *bench) Listed(x *Index, generations map[string]int64) {
	b.calls = append(b.calls, fmt.Sprintf("%s lists %v", x.Member(), generations))
}

func (b *bench) Readable(x *Index, first bool) {
	b.calls = append(b.calls, x.Member()+map[bool]string{true: " readable", false: " readable again"}[first])
}

func (b *bench) Unreadable(x *Index) { b.calls = append(b.calls, x.Member()+" unreadable") }

func generation(s *Summary) int64 {
	if s == nil {
		return 0
	}
	return s.Generation
}

func connect(t testing.TB, name string) *member.Conn {
	t.Helper()
	conn, err := member.Connect(name, &rest.Config{Host: "https://192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func newBench(t testing.TB) *bench {
	b := &bench{clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	b.store = NewStore(b.clock)
	b.Index = b.store.Open(connect(t, "east"), b)
	return b
}

// delivery returns the Delivery of a wrapper, with this metadata.generation.
func delivery(id v1alpha1.WrapperIdentity, generation int64) *v1alpha1.Delivery {
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: id}}
	d.Name, d.UID, d.Generation = KeyOf(id).Delivery(), "d", generation
	return d
}

// there puts the wrapper's Delivery into the index, with this generation, as the watch does.
func (b *bench) there(generation int64) { b.Put(delivery(webIdentity, generation)) }

func TestAListReportsTheDeliveriesThatAreGone(t *testing.T) {
	b := newBench(t)
	b.there(1)
	if b.IsListed() {
		t.Error("the index counts as listed before the first list")
	}
	other := webIdentity
	other.Name = "other"
	b.Replace(delivery(other, 2))
	b.Replace(delivery(other, 2))
	want := []string{
		"east fed.shop.web: 0, 1, news",
		"east fed.shop.other: 0, 2, news",
		"east fed.shop.web: 1, 0, news",
		"east lists map[fed.shop.other:2]",
		"east readable",
		"east fed.shop.other: 2, 2, nothing new",
		"east lists map[fed.shop.other:2]",
	}
	if diff := cmp.Diff(want, b.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if !b.IsListed() || b.Get(web) != nil || b.Get(KeyOf(other)) == nil {
		t.Errorf("listed %v, of web %v, of the other %v", b.IsListed(), b.Get(web), b.Get(KeyOf(other)))
	}
}

func TestTheIndexReportsNoDeletionOfAnUnknownDelivery(t *testing.T) {
	b := newBench(t)
	b.Remove(web.Delivery())
	if len(b.calls) > 0 {
		t.Errorf("the listener was called: %v", b.calls)
	}
}

func TestASummaryIsRecalledOnceAndOnlyWhileItIsCurrent(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*bench)
		recalled  int64 // the generation of the summary that Recall returns; 0 if Recall returns nil
	}{
		"after a list":                         {func(*bench) {}, 1},
		"it was recalled before":               {func(b *bench) { b.Recall(web) }, 0},
		"the watch has brought another since":  {func(b *bench) { b.Recall(web); b.there(2) }, 2},
		"the watch has brought the same since": {func(b *bench) { b.Recall(web); b.there(1) }, 1},
		"the host has written it since":        {func(b *bench) { b.Written(web, "d", 2) }, 0},
		"the watch has brought that write":     {func(b *bench) { b.Written(web, "d", 2); b.there(2) }, 2},
		"a list is under way":                  {func(b *bench) { b.liveness.setListing(true) }, 0},
		"a pass had to read during a list":     {func(b *bench) { b.liveness.setListing(true); b.Recall(web); b.liveness.setListing(false) }, 0},
		"the Deliveries cannot be read":        {func(b *bench) { b.sink.noteUnreadable("too many") }, 0},
		"it is gone":                           {func(b *bench) { b.Remove(web.Delivery()) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if b.there(1); b.Recall(web) != nil {
				t.Error("it was recalled before the first list")
			}
			b.Replace(delivery(webIdentity, 1))
			test.meanwhile(b)
			if got := generation(b.Recall(web)); got != test.recalled {
				t.Errorf("generation %d, want %d", got, test.recalled)
			}
		})
	}
}

func TestADeliveryIsRecordedOnceAndOnlyAsTheLastPassLeftIt(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*bench)
		recorded  bool
	}{
		"as the pass left it":                    {func(*bench) {}, true},
		"the watch brings the same again":        {func(b *bench) { b.there(2) }, true},
		"a pass has used it up":                  {func(b *bench) { b.TakeRecorded(web, b.Get(web)) }, false},
		"another client has written it":          {func(b *bench) { b.there(3) }, false},
		"the member was restored":                {func(b *bench) { b.there(1) }, false},
		"it was deleted, and made again":         {func(b *bench) { b.Remove(web.Delivery()); b.there(2) }, false},
		"it was made again, and the watch broke": {func(b *bench) { d := delivery(webIdentity, 2); d.UID = "another"; b.Put(d) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.there(2)
			if b.TakeRecorded(web, b.Get(web)) {
				t.Error("it is recorded before the first pass")
			}
			b.Recorded(web, 2)
			test.meanwhile(b)
			if got := b.TakeRecorded(web, b.Get(web)); got != test.recorded {
				t.Errorf("recorded %v, want %v", got, test.recorded)
			}
			if b.TakeRecorded(web, nil) {
				t.Error("nothing is recorded")
			}
		})
	}
}
