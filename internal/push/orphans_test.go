// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// orphanage is a bench with a roster, and a count of how often orphans were told.
type orphanage struct {
	*bench
	told int
}

func newOrphanage(t *testing.T) *orphanage {
	o := &orphanage{bench: newBench(t)}
	o.pusher.OnOrphans(func(string) { o.told++ })
	return o
}

// holds is a Delivery that the lane sees, by the name that is its wrapper's.
func (o *orphanage) holds(name string, uid types.UID) {
	id := v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: name, UID: uid, Generation: 1}
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: id}}
	d.Name, d.UID = KeyOf(id).Delivery(), types.UID("d-"+name)
	o.observe(sight(d))
}

func (o *orphanage) want(names ...string) {
	o.t.Helper()
	count, got, known := o.pusher.Orphans("east", 10)
	if diff := cmp.Diff(names, got); diff != "" || count != len(names) || !known {
		o.t.Errorf("known %v, %d orphans (-want +got):\n%s", known, count, diff)
	}
}

func key(name string) Key {
	return KeyOf(v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: name})
}

func TestNothingIsAnOrphanBeforeBothSidesAreListed(t *testing.T) {
	o := newOrphanage(t)
	o.synced = false
	unknown := func(when string) {
		t.Helper()
		if _, _, known := o.pusher.Orphans("east", 10); known || o.told > 0 {
			t.Errorf("%s: known %v, told %d times", when, known, o.told)
		}
	}
	o.holds("web", "w")
	unknown("before any list")
	o.listed()
	unknown("before the wrappers are listed")
	o.pusher.Enroll(key("web"), "w")
	unknown("while they are being listed")
	o.pusher.Enrolled()
	o.want()

	o = newOrphanage(t)
	o.synced = false
	o.pusher.Enrolled()
	o.holds("web", "w")
	unknown("before the Deliveries are listed")
	o.listed()
	o.want("fed.shop.web")
}

func TestWhatIsAnOrphan(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*orphanage)
		want []string
	}{
		"one whose wrapper is there":        {play: func(o *orphanage) { o.pusher.Enroll(web, "w") }},
		"one whose wrapper never was there": {want: []string{"fed.shop.web"}},
		"one whose wrapper is gone": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "w")
			o.pusher.Strike(web, "w")
		}, want: []string{"fed.shop.web"}},
		"one whose wrapper is made anew, and nothing decided yet": {play: func(o *orphanage) { o.pusher.Enroll(web, "anew") }},
		"one whose wrapper is made anew, and placed elsewhere": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "anew")
			o.pusher.Decided(web, "anew")
		}, want: []string{"fed.shop.web"}},
		"one whose wrapper is made anew, and placed there": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "anew")
			o.pusher.Want("east", wish("1"))
			o.pusher.Decided(web, "anew")
		}},
		"one whose wrapper is made anew, and decided before it is enrolled": {play: func(o *orphanage) {
			o.pusher.Decided(web, "anew")
			o.pusher.Enroll(web, "anew")
		}, want: []string{"fed.shop.web"}},
		"one whose wrapper is made anew, and the old one's end is told last": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "w")
			o.pusher.Enroll(web, "anew")
			o.pusher.Strike(web, "w")
		}},
		"one that is written over for a wrapper that is there": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "anew")
			o.pusher.Want("east", wish("1"))
			o.pusher.Decided(web, "anew")
			o.holds("web", "anew")
		}},
		"one of a wrapper that is not placed there": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "w")
			o.pusher.Decided(web, "w")
		}, want: []string{"fed.shop.web"}},
		"one of a wrapper that is placed there": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "w")
			o.pusher.Want("east", wish("1"))
			o.pusher.Decided(web, "w")
		}},
		"one of a wrapper that is leaving": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "w")
			goes := wish("1")
			goes.Rendering = nil
			o.pusher.Want("east", goes)
			o.pusher.Decided(web, "w")
		}},
		"one of a wrapper that is placed there, and cannot be rendered": {play: func(o *orphanage) {
			o.pusher.Enroll(web, "w")
			o.pusher.Decided(web, "w", "east")
		}},
		"one that is gone": {play: func(o *orphanage) { o.vanish("fed.shop.web") }},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrphanage(t)
			o.pusher.Enrolled()
			o.holds("web", "w")
			o.want("fed.shop.web")
			if test.play != nil {
				test.play(o)
			}
			o.want(test.want...)
		})
	}
}

// Whoever writes one by hand under a name that no wrapper reads sees it told.
func TestADeliveryUnderAnotherNameThanItsWrappersIsAnOrphan(t *testing.T) {
	o := newOrphanage(t)
	o.pusher.Enroll(web, "w")
	o.pusher.Enrolled()
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: webID}}
	d.Name = "by-hand"
	o.observe(sight(d))
	o.want("by-hand")
}

func TestThousandsOfDeliveriesAreToldOfOnceEach(t *testing.T) {
	const many = 3000
	o := newOrphanage(t)
	for i := range many {
		o.pusher.Enroll(key(fmt.Sprintf("web-%04d", i)), "w")
		o.holds(fmt.Sprintf("web-%04d", i), "w")
		placed := wish("1")
		placed.Wrapper.Name = fmt.Sprintf("web-%04d", i)
		o.pusher.Want("east", placed)
	}
	o.pusher.Enrolled()
	o.told = 0
	for i := range many {
		o.holds(fmt.Sprintf("web-%04d", i), "w") // nothing new
		o.pusher.Decided(key(fmt.Sprintf("web-%04d", i)), "w")
	}
	if o.told != 0 {
		t.Errorf("told %d times of nothing", o.told)
	}
	for i := range many {
		o.pusher.Strike(key(fmt.Sprintf("web-%04d", i)), "w")
	}
	count, names, _ := o.pusher.Orphans("east", 2)
	if diff := cmp.Diff([]string{"fed.shop.web-0000", "fed.shop.web-0001"}, names); diff != "" || count != many || o.told != many {
		t.Errorf("%d orphans, told %d times, the first (-want +got):\n%s", count, o.told, diff)
	}
}
