// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestTheNamespaceCacheForgetsAnOpenNamespaceAfterAWhile(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	d := NewCache(clock)
	shop := cacheKey{v1alpha1.NamespacesManaged, "shop"}
	is := func(want bool, when string, one cacheKey) {
		t.Helper()
		if d.isOpen(one, openForPushes) != want {
			t.Errorf("%s: open is %v", when, !want)
		}
	}
	is(false, "before any pass found it open", shop)
	d.found(shop)
	is(true, "found just now", shop)
	is(false, "under another policy", cacheKey{v1alpha1.NamespacesAll, "shop"})
	is(false, "another namespace", cacheKey{v1alpha1.NamespacesManaged, "bank"})
	d.doubt(shop)
	is(false, "in doubt", shop)
	d.found(shop)
	clock.Step(openForPushes)
	is(false, "after the cache has expired", shop)
}
