// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = Describe("When a wrapper is deleted while a member does not answer", func() {
	// halfGone returns a wrapper that its author deleted while member-2 does not answer. It has left the other members, and
	// waits for member-2.
	halfGone := func(ctx SpecContext) *v1alpha1.Federated {
		GinkgoHelper()
		w := author(ctx, build.Federated("goes").In(newShop(ctx)).ToMatching().With(build.ConfigMap("goes", "colour", "blue")))
		expectReady(ctx, w)
		fleet.Outage(ctx, "member-2")
		Expect(fleet.Host.Delete(ctx, w)).To(Succeed())
		for _, name := range []string{"member-1", "member-3"} {
			Eventually(ctx, fleet.Member(name).has("ConfigMap", w.Namespace, "goes")).WithTimeout(10 * time.Second).Should(BeFalse())
		}
		Eventually(ctx, reread(ctx, w)).WithTimeout(within + 10*time.Second).Should(And(
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting),
			WithTransform(func(w *v1alpha1.Federated) string { return conditionMessage(w, v1alpha1.ConditionReady) }, And(
				ContainSubstring("the wrapper is still leaving 1 cluster (member-2)"),
				ContainSubstring("`hostctl approve goes -n %s --release member-2`", w.Namespace)))))
		return w
	}

	It("completes on the other members, names the one that does not answer, and ends when that member answers again", func(ctx SpecContext) {
		w := halfGone(ctx)
		Expect(fleet.Start(ctx, "member-2")).To(Succeed())
		Eventually(ctx, fleet.Host.lacks(w)).Should(BeTrue())
		Expect(fleet.Member("member-2").has("ConfigMap", w.Namespace, "goes")(ctx)).To(BeFalse())
	}, SpecTimeout(3*time.Minute))

	It("stops waiting for the member after an Approval, and removes nothing there when the member answers again", func(ctx SpecContext) {
		w := halfGone(ctx)
		refused := fleet.Hostctl(ctx, "approve", w.Name, "-n", w.Namespace, "--release", "member-1", "--yes")
		Expect(refused.Code).To(Equal(1))
		Expect(refused.Stderr).To(ContainSubstring("cluster member-1 is not among the clusters that the wrapper is leaving: member-2"))
		Expect(fleet.Hostctl(ctx, "approve", w.Name, "-n", w.Namespace, "--release", "member-2", "--yes")).To(HaveField("Code", 0))
		Eventually(ctx, fleet.Host.lacks(w)).WithTimeout(10 * time.Second).Should(BeTrue())
		expectUntouchedWhenBack(ctx, "member-2", w)
	}, SpecTimeout(3*time.Minute))

	It("disappears when its finalizer is removed by hand, and deletes nothing on the member", func(ctx SpecContext) {
		w := halfGone(ctx)
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Finalizers = nil })
		Eventually(ctx, fleet.Host.lacks(w)).Should(BeTrue())
		expectUntouchedWhenBack(ctx, "member-2", w)
	}, SpecTimeout(3*time.Minute))

	It("stops waiting when the member is forgotten", func(ctx SpecContext) {
		rejoinAfter("member-2")
		w := halfGone(ctx)
		Expect(fleet.Hostctl(ctx, "unjoin", "member-2", "--forget", "--yes")).To(HaveField("Code", 0))
		Eventually(ctx, fleet.Host.lacks(w)).Should(BeTrue())
		Expect(fleet.Start(ctx, "member-2")).To(Succeed())
		Expect(fleet.Member("member-2").has("ConfigMap", w.Namespace, "goes")(ctx)).To(BeTrue())
		deleteOrphan(ctx, fleet.Member("member-2"), w)
	}, SpecTimeout(3*time.Minute))
})

// expectUntouchedWhenBack starts a member again and waits until the manager delivers to it. It checks that the objects and the
// Delivery of the deleted wrapper, the parameter gone, are still on the member.
func expectUntouchedWhenBack(ctx SpecContext, name string, gone *v1alpha1.Federated) {
	GinkgoHelper()
	member := fleet.Member(name)
	Expect(fleet.Start(ctx, name)).To(Succeed())
	// The manager delivers to a member only after it has listed all Deliveries there, so it knows the Delivery of the deleted wrapper.
	after := unique("after")
	expectReady(ctx, author(ctx, build.Federated(after).In(gone.Namespace).To(name).With(build.ConfigMap(after))))
	Consistently(ctx, member.field("ConfigMap", gone.Namespace, gone.Name, "data", "colour")).Should(Equal("blue"))
	deleteOrphan(ctx, member, gone)
}

// deleteOrphan deletes the Delivery that a deleted wrapper left on the member. Before that it checks that the manager has not
// begun to remove the objects that the Delivery lists.
func deleteOrphan(ctx SpecContext, member *TestCluster, gone v1alpha1.Wrapper) {
	GinkgoHelper()
	orphan := member.delivery(ctx, gone)
	Expect(orphan).NotTo(BeNil(), "the Delivery of the deleted wrapper must stay on the member")
	Expect(orphan.Spec.Target).NotTo(BeNil(), "the manager must not have begun to remove the Delivery's objects")
	Expect(member.Delete(ctx, orphan)).To(Succeed())
}

var _ = Describe("When a wrapper leaves a member that does not answer", func() {
	It("stops waiting for the member after an Approval, also when it is deleted later", func(ctx SpecContext) {
		w := author(ctx, build.Federated("moves").In(newShop(ctx)).To("member-1", "member-2").With(build.ConfigMap("moves", "colour", "blue")))
		expectReady(ctx, w)
		fleet.Outage(ctx, "member-2")
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Names = []string{"member-1"} })
		Eventually(ctx, reread(ctx, w)).WithTimeout(within + 10*time.Second).Should(WithTransform(
			func(w *v1alpha1.Federated) string { return conditionMessage(w, v1alpha1.ConditionReady) },
			ContainSubstring("--release member-2`")))
		Expect(fleet.Hostctl(ctx, "approve", w.Name, "-n", w.Namespace, "--release", "member-2", "--yes")).To(HaveField("Code", 0))
		expectReady(ctx, w)
		Expect(w.Status.Placement.Released).To(ContainElement(HaveField("Name", "member-2")))
		Expect(fleet.Start(ctx, "member-2")).To(Succeed())
		expectReady(ctx, author(ctx, build.Federated("after").In(w.Namespace).To("member-2").With(build.ConfigMap("after"))))
		remove(ctx, w)
		expectUntouchedWhenBack(ctx, "member-2", w)
	}, SpecTimeout(3*time.Minute))
})

// Deleting the CRD deletes every ClusterFederated. Specs run one after the other, so no other spec has one now. A cleanup installs
// the CRD again, also after a failure.
var _ = Describe("When the CRD of a wrapper is deleted at the host", func() {
	It("leaves all objects on the members, and goes on when the CRD is installed again", func(ctx SpecContext) {
		name, member := unique("swept"), fleet.Member(openMember)
		w := author(ctx, build.ClusterFederated(name).To(member.Name).OnDelete(v1alpha1.DeleteAll).With(build.StorageClass(name)))
		expectReady(ctx, w)
		before := member.version(ctx, "StorageClass", "", name)

		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "clusterfederateds." + v1alpha1.Group}}
		DeferCleanup(func(ctx SpecContext) { installAgain(ctx, crd.Name) }, NodeTimeout(2*time.Minute))
		Expect(fleet.Host.Delete(ctx, crd)).To(Succeed())
		Eventually(ctx, fleet.Host.lacks(crd)).Should(BeTrue())
		Expect(member.version(ctx, "StorageClass", "", name)).To(Equal(before))

		installAgain(ctx, crd.Name)
		other := unique("after")
		after := author(ctx, build.ClusterFederated(other).To(member.Name).With(build.StorageClass(other)))
		Eventually(ctx, reread(ctx, after)).WithTimeout(2 * time.Minute).Should(beReady())
		Expect(member.version(ctx, "StorageClass", "", name)).To(Equal(before))
		orphan := member.delivery(ctx, w)
		Expect(orphan).NotTo(BeNil(), "the Delivery of the deleted wrapper must stay on the member")
		Expect(member.Delete(ctx, orphan)).To(Succeed())
		Expect(member.Delete(ctx, build.StorageClass(name))).To(Succeed())
	}, SpecTimeout(5*time.Minute))
})

// installAgain creates a CRD on the host, unless it exists, and waits until the API server serves it.
func installAgain(ctx SpecContext, name string) {
	GinkgoHelper()
	crd, err := config.CustomResourceDefinition(name)
	Expect(err).NotTo(HaveOccurred())
	Expect(client.IgnoreAlreadyExists(fleet.Host.Create(ctx, crd))).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		found := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(fleet.Host.Get(ctx, client.ObjectKey{Name: name}, found)).To(Succeed())
		g.Expect(found.Status.Conditions).To(ContainElement(And(
			HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))))
	}).Should(Succeed())
}
