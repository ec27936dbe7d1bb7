// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// setData sets one key of a ConfigMap on a member, in the name of the given field manager.
func (c *TestCluster) setData(ctx SpecContext, namespace, name, key, value, manager string) {
	GinkgoHelper()
	cm := c.fetch(ctx, "ConfigMap", namespace, name)
	before := cm.DeepCopy()
	Expect(unstructured.SetNestedField(cm.Object, value, "data", key)).To(Succeed())
	Expect(c.Patch(ctx, cm, client.MergeFrom(before), client.FieldOwner(manager))).To(Succeed())
}

var _ = Describe("When another client changes a pushed object on a member", func() {
	It("is repaired, whether it was changed, deleted or replaced", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		w := author(ctx, build.Federated("bundle").In(shop).To(member.Name).
			With(build.ConfigMap("changed", "colour", "blue"), build.ConfigMap("deleted", "colour", "blue"),
				build.ConfigMap("replaced", "colour", "blue")))
		expectReady(ctx, w)
		recorded := member.fetch(ctx, "ConfigMap", shop, "changed").GetResourceVersion()

		member.setData(ctx, shop, "changed", "colour", "red", "somebody")
		member.setData(ctx, shop, "changed", "extra", "theirs", "somebody")
		Expect(member.Delete(ctx, member.fetch(ctx, "ConfigMap", shop, "deleted"))).To(Succeed())
		replaced := member.fetch(ctx, "ConfigMap", shop, "replaced")
		Expect(member.Delete(ctx, replaced)).To(Succeed())
		again := replaced.DeepCopy() // kubectl replace --force does the same: the new object has Fairlead's marks and another uid
		again.SetUID("")
		again.SetResourceVersion("")
		again.SetManagedFields(nil)
		again.Object["data"] = map[string]any{"colour": "red"}
		Expect(member.Create(ctx, again)).To(Succeed())

		for _, name := range []string{"changed", "deleted", "replaced"} {
			Eventually(ctx, member.field("ConfigMap", shop, name, "data", "colour")).Should(Equal("blue"), name)
		}
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveLine(member.Name, v1alpha1.StateHealthy, "")))
		Expect(member.version(ctx, "ConfigMap", shop, "changed")).NotTo(Equal(recorded))
		Expect(member.field("ConfigMap", shop, "changed", "data", "extra")(ctx)).To(Equal("theirs"), "a field that the author does not set belongs to the member")

		By("recording the present uid of every object in the Delivery")
		Eventually(ctx, func(g Gomega) {
			for _, e := range member.delivery(ctx, w).Spec.Inventory {
				g.Expect(e.State).To(Equal(v1alpha1.EntryApplied))
				g.Expect(e.UID).To(Equal(member.fetch(ctx, "ConfigMap", shop, e.Name).GetUID()))
			}
		}).Should(Succeed())
	})

	It("is reported and left alone under drift: Report, and repaired when the policy is changed back", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-2")
		w := author(ctx, build.Federated("watched").In(shop).To(member.Name).OnDrift(v1alpha1.DriftReport).
			With(build.ConfigMap("watched", "colour", "blue"), build.ConfigMap("gone", "colour", "blue")))
		expectReady(ctx, w)

		member.setData(ctx, shop, "watched", "colour", "red", "somebody")
		Eventually(ctx, reread(ctx, w)).Should(
			haveLine(member.Name, v1alpha1.StateHealthy, v1alpha1.ReasonDrifted, "ConfigMap watched", "somebody", ".data.colour"))
		Expect(w).To(beReady())
		Expect(member.Delete(ctx, member.fetch(ctx, "ConfigMap", shop, "gone"))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(member.delivery(ctx, w).Status.Objects).To(HaveLen(2))
		}).Should(Succeed())
		Expect(member.field("ConfigMap", shop, "watched", "data", "colour")(ctx)).To(Equal("red"))
		Expect(member.has("ConfigMap", shop, "gone")(ctx)).To(BeFalse())

		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Drift = v1alpha1.DriftRepair })
		Eventually(ctx, member.field("ConfigMap", shop, "watched", "data", "colour")).Should(Equal("blue"))
		Eventually(ctx, member.field("ConfigMap", shop, "gone", "data", "colour")).Should(Equal("blue"))
		Eventually(ctx, reread(ctx, w)).Should(haveLine(member.Name, v1alpha1.StateHealthy, ""))
	})

	It("is treated as another owner's object if it was replaced by an object without Fairlead's marks", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		w := author(ctx, build.Federated("usurped").In(shop).To(member.Name).With(build.ConfigMap("usurped", "colour", "blue")))
		expectReady(ctx, w)
		Expect(member.Delete(ctx, member.fetch(ctx, "ConfigMap", shop, "usurped"))).To(Succeed())
		theirs := build.ConfigMap("usurped", "colour", "red")
		theirs.SetNamespace(shop)
		if err := member.Create(ctx, theirs, client.FieldOwner("usurper")); err == nil { // an error means that the manager created the object first; then there is no conflict to see
			Eventually(ctx, reread(ctx, w)).Should(haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonObjectExists, "usurper"))
			Expect(member.field("ConfigMap", shop, "usurped", "data", "colour")(ctx)).To(Equal("red"))
			remove(ctx, w)
			Expect(member.has("ConfigMap", shop, "usurped")(ctx)).To(BeTrue())
		}
	})

	It("leaves a Deployment's replicas to an autoscaler once its author drops them", needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		deployment := func(replicas string) *unstructured.Unstructured {
			return build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: simulated}]}
`, replicas)
		}
		w := author(ctx, build.Federated("web").In(shop).To(member.Name).With(deployment("replicas: 3")))
		expectReady(ctx, w)
		Expect(member.field("Deployment", shop, "web", "spec", "replicas")(ctx)).To(BeEquivalentTo(3))

		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects[0] = build.Raw(deployment("")) })
		expectReady(ctx, w)
		Expect(member.field("Deployment", shop, "web", "spec", "replicas")(ctx)).To(
			BeEquivalentTo(3), "the number of replicas must stay, and not become the default of 1")

		Expect(fleet.Kubectl(ctx, "--context", member.Name, "-n", shop, "scale", "deployment/web", "--replicas=5").Code).To(BeZero())
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.Annotated(deployment(""), "example.com/edit", "2"))
		})
		expectReady(ctx, w)
		Expect(member.field("Deployment", shop, "web", "spec", "replicas")(ctx)).To(BeEquivalentTo(5))
	})
})
