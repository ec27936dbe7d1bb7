// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// servedWithin bounds the time from when a member serves a kind until an object of that kind arrives there.
const servedWithin = 5 * time.Second

// custom returns an object of a custom kind in group e2e.fairlead.dev.
func custom(kind, name string) *unstructured.Unstructured {
	return build.Manifest("{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: %s}, spec: {size: 1}}", kind, name)
}

var _ = Describe("When a member does not serve a kind", func() {
	It("reports APINotServed there only, serves the rest and the other members, and follows the CRD within five seconds", needsOpenMembers, func(ctx SpecContext) {
		shop, late := newShop(ctx), fleet.Member("member-3")
		kind, plural := newKind("Widget")
		full := kind + ".v1.e2e.fairlead.dev"
		for _, name := range []string{"member-1", "member-2"} {
			fleet.Member(name).create(ctx, build.CRD(kind, plural))
		}
		managers := managerProcesses(ctx)
		widget := author(ctx, build.Federated("widget").In(shop).ToMatching().With(custom(kind, "w"), build.ConfigMap("settings", "colour", "blue")))
		for _, name := range []string{"member-1", "member-2"} {
			Eventually(ctx, fleet.Member(name).has(full, shop, "w")).Should(BeTrue())
			fleet.Member(name).speak(ctx, full, shop, "w", "True", "Running", "")
		}
		Eventually(ctx, reread(ctx, widget)).Should(And(
			haveLine("member-1", v1alpha1.StateHealthy, ""),
			haveLine("member-2", v1alpha1.StateHealthy, ""),
			haveLine("member-3", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, kind, "e2e.fairlead.dev/v1"),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAPINotServed)))
		Eventually(ctx, late.has("ConfigMap", shop, "settings")).Should(BeTrue())

		late.create(ctx, build.CRD(kind, plural))
		Eventually(ctx, late.has(full, shop, "w")).WithTimeout(servedWithin).Should(BeTrue())
		late.speak(ctx, full, shop, "w", "True", "Running", "")
		expectReady(ctx, widget)
		Expect(managerProcesses(ctx)).To(Equal(managers), "the manager was restarted, and must not need a restart for a new kind")
	})

	It("gets the kind from a ClusterFederated, and then, without another step, the objects that a Federated had for it", needsOpenMembers, func(ctx SpecContext) {
		shop := newShop(ctx)
		kind, plural := newKind("Widget")
		full := kind + ".v1.e2e.fairlead.dev"
		widget := author(ctx, build.Federated("widget").In(shop).ToMatching().With(custom(kind, "w")))
		Eventually(ctx, reread(ctx, widget)).Should(And(
			haveLine("member-1", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed),
			haveLine("member-2", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed),
			haveLine("member-3", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed)))

		crd := author(ctx, build.ClusterFederated(plural).ToMatching().With(build.Kept(build.CRD(kind, plural), "false")))
		for _, member := range fleet.Members() {
			Eventually(ctx, member.has("CustomResourceDefinition", "", plural+".e2e.fairlead.dev")).Should(BeTrue())
			Eventually(ctx, member.has(full, shop, "w")).WithTimeout(servedWithin).Should(BeTrue())
			member.speak(ctx, full, shop, "w", "True", "Running", "")
		}
		expectReady(ctx, crd, widget)
		remove(ctx, widget) // before a cleanup deletes the CRD: the manager needs the kind to remove the object
	})

	It("lets its collector read a new kind of an API group that had no kind at the time of the join", func(ctx SpecContext) {
		member := fleet.Member("member-3")
		follow := func() {
			GinkgoHelper()
			kind, plural := newKind("Widget")
			full, crd := kind+".v1.e2e.fairlead.dev", build.CRD(kind, plural)
			shop := newShop(ctx)
			member.create(ctx, crd)
			w := author(ctx, build.Federated("widget").In(shop).To(member.Name).With(custom(kind, "w")))
			Eventually(ctx, member.has(full, shop, "w")).Should(BeTrue())
			member.speak(ctx, full, shop, "w", "True", "Running", "")
			expectReady(ctx, w)
			remove(ctx, w) // before the next line deletes the CRD: the manager needs the kind to remove the object
			Expect(member.Delete(ctx, crd)).To(Succeed())
			Eventually(ctx, member.lacks(crd)).Should(BeTrue())
		}
		follow()
		for _, allow := range []string{"core", "any"} { // each of the two joins changes what the collector may read
			member.rejoin(ctx, allow)
		}
		follow()
	})

	It("gets a CRD before the objects of its kind that stand before it in one bundle", func(ctx SpecContext) {
		kind, plural := newKind("Planet")
		crd := build.Kept(build.CRD(kind, plural), "false")
		Expect(unstructured.SetNestedField(crd.Object, "Cluster", "spec", "scope")).To(Succeed())
		bundle := author(ctx, build.ClusterFederated(plural).To(openMember).With(custom(kind, "mars"), crd))
		member := fleet.Member(openMember)
		Eventually(ctx, member.has(kind+".v1.e2e.fairlead.dev", "", "mars")).Should(BeTrue())
		member.speak(ctx, kind+".v1.e2e.fairlead.dev", "", "mars", "True", "Running", "")
		expectReady(ctx, bundle)
	})
})

var _ = Describe("When a member granted less than any", Ordered, func() {
	const name = "member-3"

	BeforeAll(func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) {
			fleet.Member(name).rejoin(ctx, "any")
			mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			Eventually(ctx, reread(ctx, mc)).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, ""))
		})
		fleet.Member(name).rejoin(ctx, "core")
	})

	It("accepts the granted kinds", func(ctx SpecContext) {
		settings := author(ctx, build.Federated("settings").In(newShop(ctx)).To(name).With(build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, settings)
	})

	It("refuses another kind as NotGranted with the rule to add, and takes it once one labelled ClusterRole holds that rule", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(name)
		kind, plural := newKind("Widget")
		member.create(ctx, build.CRD(kind, plural))
		widget := author(ctx, build.Federated("widget").In(shop).To("member-1", name).
			With(custom(kind, "w"), build.ConfigMap("settings", "colour", "blue")))
		Eventually(ctx, reread(ctx, widget)).Should(And(
			haveLine("member-1", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed),
			haveLine(name, v1alpha1.StateStalled, v1alpha1.ReasonNotGranted,
				kind+" w", fmt.Sprintf("{apiGroups: [e2e.fairlead.dev], resources: [%s], verbs: [get, list, watch, create, patch, delete]}", plural),
				v1alpha1.LabelAggregateToHost+`: "true"`)))
		Eventually(ctx, member.has("ConfigMap", shop, "settings")).Should(BeTrue(), "the other objects of the wrapper must be pushed")

		member.create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: plural, Labels: map[string]string{
				v1alpha1.LabelAggregateToHost: "true", v1alpha1.LabelAggregateToCollector: "true"}},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{"e2e.fairlead.dev"}, Resources: []string{plural},
				Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}},
		})
		full := kind + ".v1.e2e.fairlead.dev"
		Eventually(ctx, member.has(full, shop, "w")).WithTimeout(3 * time.Minute).Should(BeTrue())
		member.speak(ctx, full, shop, "w", "True", "Running", "")
		edit(ctx, widget, func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Names = []string{name} })
		Eventually(ctx, reread(ctx, widget)).WithTimeout(time.Minute).Should(beReady())
		remove(ctx, widget) // before a cleanup takes the host's permission for the kind away
	}, SpecTimeout(6*time.Minute))
})
