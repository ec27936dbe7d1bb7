// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
)

var _ = Describe("When the channel of a Subscription changes", needsOLM, needsProcesses, func() {
	It("keeps the operator at the target of the old channel, and says where the new one lacks that target", func(ctx SpecContext) {
		shop := newShop(ctx)
		b := subscribedToOwn(ctx, shop, []string{"member-1", "member-2"}, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"},
			olm.Bundle{Version: "v2.0.0", Channels: []string{"fast"}, Replaces: "v1.1.0"}).UpTo("demo", demoCSV("v1.1.0"))
		b.Obj().Spec.Placement.Clusters.Names = []string{"member-1"}
		w := author(ctx, b)
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.1.0")))

		edit(ctx, w, func(w *v1alpha1.Federated) {
			for i := range w.Spec.Objects {
				w.Spec.Objects[i].Raw = bytes.Replace(w.Spec.Objects[i].Raw, []byte(`"channel":"stable"`), []byte(`"channel":"fast"`), 1)
			}
			w.Spec.Placement.Clusters.Names = []string{"member-1", "member-2"}
		})
		Eventually(ctx, reread(ctx, w)).WithTimeout(olmPatience).Should(haveLine("member-2", v1alpha1.StateDegraded, v1alpha1.ReasonTargetNotInCatalog,
			"no operators found with name "+demoCSV("v1.1.0")+" in channel fast"))
		Eventually(ctx, subscriptionField(w, "member-1", "currentCSV")).WithTimeout(olmPatience).Should(Equal(demoCSV("v2.0.0")))
		Eventually(ctx, reread(ctx, w)).Should(haveVersion("member-1", "v1.1.0"))
		Expect(fleet.Member("member-1").csvPhase(ctx, shop, demoCSV("v2.0.0"))).To(BeEmpty())

		aim(ctx, w, "v2.0.0")
		Eventually(ctx, reread(ctx, w)).WithTimeout(2 * olmPatience).Should(And(beReady(), haveVersion("member-1", "v2.0.0"), haveVersion("member-2", "v2.0.0")))
	}, SpecTimeout(8*time.Minute))
})
