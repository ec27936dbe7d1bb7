// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// furnish creates a namespace and a ConfigMap on a member, in the name of a field manager other than Fairlead.
func (c *TestCluster) furnish(ctx SpecContext, shop, name, colour, manager string) {
	GinkgoHelper()
	Expect(client.IgnoreAlreadyExists(c.Create(ctx, build.Namespace(shop)))).To(Succeed())
	theirs := build.ConfigMap(name, "colour", colour)
	theirs.SetNamespace(shop)
	Expect(c.Create(ctx, theirs, client.FieldOwner(manager))).To(Succeed())
}

var _ = Describe("When an object exists already", func() {
	It("is left alone under onConflict: Fail, which says who manages it", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(openMember)
		member.furnish(ctx, shop, "theirs", "red", "helm")
		before := member.version(ctx, "ConfigMap", shop, "theirs")
		w := author(ctx, build.Federated("bundle").In(shop).To(member.Name).
			With(build.ConfigMap("theirs", "colour", "red"), build.ConfigMap("new", "colour", "blue")))
		Eventually(ctx, reread(ctx, w)).Should(
			haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonObjectExists, "ConfigMap theirs", "managed by helm", "AdoptIfEqual"))
		Expect(member.has("ConfigMap", shop, "new")(ctx)).To(BeTrue(), "an object that exists must not delay the other objects")
		Expect(member.version(ctx, "ConfigMap", shop, "theirs")).To(Equal(before))
		remove(ctx, w)
		Expect(member.version(ctx, "ConfigMap", shop, "theirs")).To(Equal(before), "an object that Fairlead never owned must stay unchanged")
	})

	It("is adopted under AdoptIfEqual if it is equal, refused if it differs, and released when the wrapper leaves", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(openMember)
		member.furnish(ctx, shop, "equal", "blue", "helm")
		member.furnish(ctx, shop, "different", "red", "helm")
		equal := author(ctx, build.Federated("equal").In(shop).To(member.Name).OnConflict(v1alpha1.ConflictAdoptIfEqual).
			With(build.ConfigMap("equal", "colour", "blue")))
		different := author(ctx, build.Federated("different").In(shop).To(member.Name).OnConflict(v1alpha1.ConflictAdoptIfEqual).
			With(build.ConfigMap("different", "colour", "blue")))
		expectReady(ctx, equal)
		Expect(member.delivery(ctx, equal).Spec.Inventory[0].Adopted).To(Equal(v1alpha1.AdoptedYes))
		Eventually(ctx, reread(ctx, different)).Should(
			haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonObjectExists, ".data.colour", "helm"))
		Expect(member.field("ConfigMap", shop, "different", "data", "colour")(ctx)).To(Equal("red"))

		remove(ctx, equal)
		released := member.fetch(ctx, "ConfigMap", shop, "equal")
		Expect(released).NotTo(BeNil(), "an adopted object must be released and not deleted")
		Expect(released.Object["data"]).To(Equal(map[string]any{"colour": "blue"}))
		Expect(released.GetLabels()).NotTo(HaveKey(v1alpha1.LabelUID))
		Expect(released.GetAnnotations()).To(BeEmpty())
		for _, entry := range released.GetManagedFields() {
			Expect(entry.Manager).NotTo(Equal(v1alpha1.FieldManager))
		}
	})

	It("is reported with the name of the other wrapper that owns it", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-2")
		first := author(ctx, build.Federated("first").In(shop).To(member.Name).With(build.ConfigMap("one", "colour", "blue")))
		expectReady(ctx, first)
		before := member.version(ctx, "ConfigMap", shop, "one")
		second := author(ctx, build.Federated("second").In(shop).To(member.Name).OnConflict(v1alpha1.ConflictAdoptIfEqual).
			With(build.ConfigMap("one", "colour", "blue")))
		Eventually(ctx, reread(ctx, second)).Should(
			haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonOwnedByOther, "federated/"+shop+"/first"))
		remove(ctx, second)
		Expect(member.version(ctx, "ConfigMap", shop, "one")).To(Equal(before))
	})
})

var _ = Describe("When a change touches an immutable field", func() {
	It("is refused with field and remedy, or the object is replaced if the author permits it", needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		job := func(app string, annotations string) v1alpha1.Federated {
			obj := build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {%[2]s}}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: web, image: simulated}]}
`, app, annotations)
			return *build.Federated("").With(obj).Obj()
		}
		b := build.Federated("web").In(shop).To(member.Name)
		b.Obj().Spec.Objects = job("one", "").Spec.Objects
		w := author(ctx, b)
		expectReady(ctx, w)
		before := member.fetch(ctx, "Deployment", shop, "web").GetUID()

		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects = job("two", "").Spec.Objects })
		Eventually(ctx, reread(ctx, w)).Should(
			haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonImmutableField,
				"Deployment web", "spec.selector", v1alpha1.AnnotationReplace))
		Expect(member.fetch(ctx, "Deployment", shop, "web").GetUID()).To(Equal(before))

		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Objects = job("two", v1alpha1.AnnotationReplace+`: "true"`).Spec.Objects
		})
		expectReady(ctx, w)
		Expect(member.fetch(ctx, "Deployment", shop, "web").GetUID()).NotTo(Equal(before))
		Expect(member.field("Deployment", shop, "web", "spec", "selector", "matchLabels", "app")(ctx)).To(Equal("two"))
	})
})
