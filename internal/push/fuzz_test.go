// SPDX-License-Identifier: Apache-2.0

package push

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// A member can write anything into a Delivery. A false Delivery may affect only the wrapper that it names, on that
// member.
func FuzzDelivery(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"fed.shop.web","uid":"u"},"spec":{"wrapper":{"kind":"Federated","namespace":"shop","name":"web","uid":"w"},
		"target":{"revision":"r","rendering":"d"},"inventory":[{"kind":"Secret","name":"s","state":"Applied"},{"group":"apps","kind":"Deployment","name":"d"}]},
		"status":{"objects":[{"kind":"Secret","name":"s","drift":{"kind":"Gone","resourceVersion":"1"}},{"kind":"X","reason":"APIServed"}]}}`))
	f.Add([]byte(`{"spec":{"inventory":[{},{"kind":"Secret"}]},"status":{"objects":[{"drift":{}}]}}`))
	f.Add([]byte(strings.Repeat(`{"status":`, 3)))
	f.Add([]byte(`{"status":{"objects":[{}` + strings.Repeat(`,{}`, 300) + `]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := &v1alpha1.Delivery{}
		if json.Unmarshal(raw, d) != nil {
			return
		}
		b := newBench(t)
		b.pusher.SetDesired("east", wish("1"))
		b.deliveries.Put(d)
		todo, _ := b.due(web, wish("1"))
		for id := range todo.Drifted {
			if d.Spec.Wrapper.UID != webID.UID {
				t.Fatalf("%v is to be repaired for another wrapper's Delivery", id)
			}
		}
		b.deliveries.Remove(d.Name)
	})
}
