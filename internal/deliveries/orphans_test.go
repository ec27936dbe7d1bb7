// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// orphanage is a bench with a finder of orphans. The test sets the desired states. The field told is the number of
// calls of the function notify.
type orphanage struct {
	*bench
	*Orphans
	t       *testing.T
	desired map[Key]bool // true if the wrapper is to leave the member
	told    int
}

func newOrphanage(t *testing.T) *orphanage {
	o := newUnlisted(t)
	o.Replace()
	return o
}

// newUnlisted makes an orphanage whose index has not listed the member's Deliveries yet.
func newUnlisted(t *testing.T) *orphanage {
	o := &orphanage{bench: newBench(t), t: t, desired: make(map[Key]bool)}
	o.Orphans = NewOrphans(o.bench.store, func(key Key, _ string) (bool, bool) {
		leaving, wanted := o.desired[key]
		return wanted, leaving
	}, func(string) { o.told++ })
	return o
}

// holds puts the Delivery of a wrapper into the index, as the watch does.
func (o *orphanage) holds(name string, uid types.UID) {
	o.Put(delivery(identity(name, uid), 1))
}

// lists stores a complete list with one Delivery.
func (o *orphanage) lists(name string, uid types.UID) {
	o.Replace(delivery(identity(name, uid), 1))
}

func identity(name string, uid types.UID) v1alpha1.WrapperIdentity {
	return v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: name, UID: uid, Generation: 1}
}

func (o *orphanage) want(names ...string) {
	o.t.Helper()
	count, got, known := o.Of("east", 10)
	if diff := cmp.Diff(names, got); diff != "" || count != len(names) || !known {
		o.t.Errorf("known %v, %d orphans (-want +got):\n%s", known, count, diff)
	}
}

func key(name string) Key {
	return KeyOf(v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: name})
}

func TestNothingIsAnOrphanBeforeBothSidesAreListed(t *testing.T) {
	o := newUnlisted(t)
	unknown := func(when string) {
		t.Helper()
		if _, _, known := o.Of("east", 10); known || o.told > 0 {
			t.Errorf("%s: known %v, told %d times", when, known, o.told)
		}
	}
	o.holds("web", "w")
	unknown("before any list")
	o.lists("web", "w")
	unknown("before the wrappers are listed")
	o.AddWrapper(key("web"), "w")
	unknown("while they are being listed")
	o.WrappersListed()
	o.want()

	o = newUnlisted(t)
	o.WrappersListed()
	o.holds("web", "w")
	unknown("before the Deliveries are listed")
	o.lists("web", "w")
	o.want("fed.shop.web")
}

func TestWhatIsAnOrphan(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*orphanage)
		want []string
	}{
		"one whose wrapper is there":        {play: func(o *orphanage) { o.AddWrapper(web, "w") }},
		"one whose wrapper never was there": {want: []string{"fed.shop.web"}},
		"one whose wrapper is gone": {play: func(o *orphanage) {
			o.AddWrapper(web, "w")
			o.RemoveWrapper(web, "w")
		}, want: []string{"fed.shop.web"}},
		"one whose wrapper was created again, before its placement is decided": {play: func(o *orphanage) { o.AddWrapper(web, "anew") }},
		"one whose wrapper was created again, and is placed elsewhere": {play: func(o *orphanage) {
			o.AddWrapper(web, "anew")
			o.MarkDecided(web, "anew")
		}, want: []string{"fed.shop.web"}},
		"one whose wrapper was created again, and is placed there": {play: func(o *orphanage) {
			o.AddWrapper(web, "anew")
			o.desired[web] = false
			o.MarkDecided(web, "anew")
		}},
		"one whose wrapper was created again, and was decided before it was added": {play: func(o *orphanage) {
			o.MarkDecided(web, "anew")
			o.AddWrapper(web, "anew")
		}, want: []string{"fed.shop.web"}},
		"one whose wrapper was created again, and the old one was removed last": {play: func(o *orphanage) {
			o.AddWrapper(web, "w")
			o.AddWrapper(web, "anew")
			o.RemoveWrapper(web, "w")
		}},
		"one that is overwritten for an existing wrapper": {play: func(o *orphanage) {
			o.AddWrapper(web, "anew")
			o.desired[web] = false
			o.MarkDecided(web, "anew")
			o.holds("web", "anew")
		}},
		"one of a wrapper that is not placed there": {play: func(o *orphanage) {
			o.AddWrapper(web, "w")
			o.MarkDecided(web, "w")
		}, want: []string{"fed.shop.web"}},
		"one of a wrapper that is placed there": {play: func(o *orphanage) {
			o.AddWrapper(web, "w")
			o.desired[web] = false
			o.MarkDecided(web, "w")
		}},
		"one of a wrapper that is leaving": {play: func(o *orphanage) {
			o.AddWrapper(web, "w")
			o.desired[web] = true
			o.MarkDecided(web, "w")
		}},
		"one of a wrapper that is placed there, and cannot be rendered": {play: func(o *orphanage) {
			o.AddWrapper(web, "w")
			o.MarkDecided(web, "w", "east")
		}},
		"one that is gone": {play: func(o *orphanage) { o.Remove("fed.shop.web") }},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrphanage(t)
			o.WrappersListed()
			o.holds("web", "w")
			o.want("fed.shop.web")
			if test.play != nil {
				test.play(o)
			}
			o.want(test.want...)
		})
	}
}

// A person may write a Delivery by hand, under a name under which no pass looks for it.
func TestADeliveryUnderAnotherNameThanItsWrappersIsAnOrphan(t *testing.T) {
	o := newOrphanage(t)
	o.AddWrapper(web, "w")
	o.WrappersListed()
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: webIdentity}}
	d.Name = "by-hand"
	o.Put(d)
	o.want("by-hand")
}

func TestEachOfThousandsOfOrphansIsReportedOnce(t *testing.T) {
	const many = 3000
	o := newOrphanage(t)
	for i := range many {
		o.AddWrapper(key(fmt.Sprintf("web-%04d", i)), "w")
		o.holds(fmt.Sprintf("web-%04d", i), "w")
		o.desired[key(fmt.Sprintf("web-%04d", i))] = false
	}
	o.WrappersListed()
	o.told = 0
	for i := range many {
		o.holds(fmt.Sprintf("web-%04d", i), "w") // the watch brings the same Delivery again
		o.MarkDecided(key(fmt.Sprintf("web-%04d", i)), "w")
	}
	if o.told != 0 {
		t.Errorf("notified %d times although no orphan changed", o.told)
	}
	for i := range many {
		o.RemoveWrapper(key(fmt.Sprintf("web-%04d", i)), "w")
	}
	count, names, _ := o.Of("east", 2)
	if diff := cmp.Diff([]string{"fed.shop.web-0000", "fed.shop.web-0001"}, names); diff != "" || count != many || o.told != many {
		t.Errorf("%d orphans, told %d times, the first (-want +got):\n%s", count, o.told, diff)
	}
}
