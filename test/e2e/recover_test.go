// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// leadAgain bounds the time until another manager leads after a kill: the lease of the killed manager has to expire first.
const leadAgain = 2 * time.Minute

var _ = Describe("When the host forgets", func() {
	It("lost wrappers leave their objects; when they are created again, equal ones are adopted and others held until a person decides", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		equal := author(ctx, build.Federated("equal").In(shop).To(member.Name).With(build.ConfigMap("equal", "colour", "blue")))
		other := author(ctx, build.Federated("other").In(shop).To(member.Name).With(
			build.ConfigMap("other", "colour", "blue"), build.ConfigMap("dropped")))
		expectReady(ctx, equal, other)
		uids := []any{member.uid("equal", shop)(ctx), member.uid("other", shop)(ctx)}

		vanish(ctx, equal, other)
		Eventually(ctx, orphansOn(member.Name)).WithTimeout(leadAgain).Should(ContainElements(deliveryOf(equal), deliveryOf(other)))
		table := fleet.Hostctl(ctx, "recover")
		Expect(table.Code).To(Equal(exit.Waits))
		Expect(table.Stdout).To(MatchRegexp(`member-1 +Orphan +federated/` + shop + `/equal`))
		Expect([]any{member.uid("equal", shop)(ctx), member.uid("other", shop)(ctx)}).To(Equal(uids), "no object must be deleted")

		By("creating them again from Git")
		equal = author(ctx, build.Federated("equal").In(shop).To(member.Name).With(build.ConfigMap("equal", "colour", "blue")))
		other = author(ctx, build.Federated("other").In(shop).To(member.Name).With(build.ConfigMap("other", "colour", "green")))
		expectReady(ctx, equal)
		Eventually(ctx, reread(ctx, other)).Should(haveLine(member.Name, v1alpha1.StateHeld, v1alpha1.ReasonWrapperReplaced,
			"hostctl recover other -n "+shop))
		Expect(member.field("ConfigMap", shop, "other", "data", "colour")(ctx)).To(Equal("blue"))
		Expect(member.delivery(ctx, equal).Spec.Wrapper.UID).To(Equal(equal.UID))
		Eventually(ctx, orphansOn(member.Name)).ShouldNot(ContainElement(BeElementOf(deliveryOf(equal), deliveryOf(other))))

		By("deciding that the host's version counts")
		Expect(fleet.Hostctl(ctx, "recover", "other", "-n", shop).Code).To(Equal(exit.Waits))
		Expect(fleet.Hostctl(ctx, "recover", "other", "-n", shop, "--keep", "host", "--yes").Code).To(Equal(exit.Done))
		expectReady(ctx, other)
		Expect(member.field("ConfigMap", shop, "other", "data", "colour")(ctx)).To(Equal("green"))
		Expect(member.has("ConfigMap", shop, "dropped")(ctx)).To(BeFalse())
		Expect([]any{member.uid("equal", shop)(ctx), member.uid("other", shop)(ctx)}).To(Equal(uids), "the objects must keep their uids")
		Expect(fleet.Hostctl(ctx, "recover", "other", "-n", shop).Code).To(Equal(exit.Done))
	}, SpecTimeout(5*time.Minute))

	It("a Delivery that another client wrote on a member has no effect", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		w := build.Federated("forged").In(shop).To(member.Name).With(build.ConfigMap("mine", "colour", "blue")).Obj()
		theirs := build.ConfigMap("theirs")
		theirs.SetNamespace("default")
		theirs.SetName(shop)
		member.create(ctx, theirs)
		forged := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{
			Wrapper: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: shop, Name: w.Name, UID: "forged", Generation: 1},
			Target:  &v1alpha1.DeliveryTarget{Revision: "r", Rendering: "sha256:00"},
			Inventory: []v1alpha1.InventoryEntry{{Kind: "ConfigMap", Resource: "configmaps", Name: shop, State: v1alpha1.EntryApplied,
				UID: theirs.GetUID()}},
			Seal: "hmac-sha256:00",
		}}
		forged.Namespace, forged.Name = v1alpha1.SystemNamespace, deliveryOf(w)
		Expect(member.Create(ctx, forged)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(member.Delete(ctx, forged))).To(Succeed()) })
		Eventually(ctx, orphansOn(member.Name)).Should(ContainElement(deliveryOf(w)))

		fleet.Host.create(ctx, w)
		Eventually(ctx, reread(ctx, w)).Should(haveLine(member.Name, v1alpha1.StateHeld, v1alpha1.ReasonWrapperReplaced, "not sealed"))
		Consistently(ctx, member.has("ConfigMap", shop, "mine")).Should(BeFalse())
		Expect(member.delivery(ctx, w).Spec.Wrapper.UID).To(BeEquivalentTo("forged"))
		Expect(member.has("ConfigMap", "default", shop)(ctx)).To(BeTrue())
	})

	It("and is restored from a backup, pairs with a newer Delivery are held and the others go on", needsProcesses, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-2")
		ahead := author(ctx, build.Federated("ahead").In(shop).To(member.Name).With(build.ConfigMap("ahead", "colour", "blue")))
		still := author(ctx, build.Federated("still").In(shop).To(member.Name).With(build.ConfigMap("still", "colour", "blue")))
		early := author(ctx, build.Federated("early").In(shop).To("member-1").With(build.ConfigMap("early", "colour", "blue")))
		expectReady(ctx, ahead, still)
		backup := filepath.Join(GinkgoT().TempDir(), "host.tar.gz")
		Expect(fleet.Hostctl(ctx, "sandbox", "snapshot", backup, "--name", fleet.Sandbox.Name).Code).To(Equal(exit.Done))
		colour := func(w *v1alpha1.Federated, value string) {
			Eventually(ctx, func() error { // retry: the update fails while no manager serves the webhooks
				if err := fleet.Host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
					return err
				}
				w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", value))
				return fleet.Host.Update(ctx, w)
			}).Should(Succeed())
		}
		colour(ahead, "green")
		Eventually(ctx, member.field("ConfigMap", shop, "ahead", "data", "colour")).WithTimeout(leadAgain).Should(Equal("green"))
		place := func(w *v1alpha1.Federated) {
			w.Spec.Placement.Clusters = &v1alpha1.ClusterSelection{Names: []string{"member-1", member.Name}}
		}
		edit(ctx, early, place)
		expectReady(ctx, ahead, early)

		Expect(fleet.Hostctl(ctx, "sandbox", "restore", backup, "--name", fleet.Sandbox.Name).Code).To(Equal(exit.Done))
		Eventually(ctx, reread(ctx, ahead)).WithTimeout(leadAgain).Should(haveLine(member.Name, v1alpha1.StateHeld, v1alpha1.ReasonHostBehindMember,
			"hostctl recover ahead -n "+shop))
		colour(still, "red")
		Eventually(ctx, member.field("ConfigMap", shop, "still", "data", "colour")).Should(Equal("red"))
		Expect(member.field("ConfigMap", shop, "ahead", "data", "colour")(ctx)).To(Equal("green"), "the member must keep its newer state")
		table := fleet.Hostctl(ctx, "recover")
		Expect(table.Code).To(Equal(exit.Waits))
		Expect(table.Stdout).To(MatchRegexp(`member-2 +HostBehindMember +federated/` + shop + `/ahead`))

		By("reporting a Delivery whose wrapper the restored host does not place there")
		Eventually(ctx, orphansOn(member.Name)).Should(ContainElement(deliveryOf(early)))
		Expect(fleet.Hostctl(ctx, "recover").Stdout).To(MatchRegexp(`member-2 +Orphan +federated/` + shop + `/early +place the wrapper on the member again`))
		Expect(member.has("ConfigMap", shop, "early")(ctx)).To(BeTrue())
		edit(ctx, early, place)
		expectReady(ctx, early)
		Eventually(ctx, orphansOn(member.Name)).ShouldNot(ContainElement(deliveryOf(early)))

		By("deciding that the host's version counts")
		Expect(fleet.Hostctl(ctx, "recover", "ahead", "-n", shop, "--keep", "host", "--yes").Code).To(Equal(exit.Done))
		Eventually(ctx, member.field("ConfigMap", shop, "ahead", "data", "colour")).Should(Equal("blue"))
		expectReady(ctx, ahead)
	}, SpecTimeout(6*time.Minute))
})

// vanish deletes wrappers without the manager, so that their objects and Deliveries stay on the members. It kills the manager and,
// before the next manager leads, deletes the wrappers and removes their finalizers. In this order no update waits for the webhooks: the API
// server does not call them for a wrapper that is being deleted.
func vanish(ctx context.Context, wrappers ...*v1alpha1.Federated) {
	GinkgoHelper()
	killLeader(ctx)
	for _, w := range wrappers {
		Expect(fleet.Host.Delete(ctx, w)).To(Succeed())
		Expect(fleet.Host.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed(), "a manager has run the deletion, so the spec proves nothing")
		w.Finalizers = nil
		Expect(fleet.Host.Update(ctx, w)).To(Succeed())
		Expect(fleet.Host.lacks(w)(ctx)).To(BeTrue())
	}
}

// deliveryOf returns the name of a wrapper's Delivery on members.
func deliveryOf(w v1alpha1.Wrapper) string {
	return marks.DeliveryName(w.WrapperKind(), w.GetNamespace(), w.GetName())
}

// orphansOn returns a function for Eventually that lists the orphans in the status of a MemberCluster.
func orphansOn(name string) func(context.Context) []string {
	return func(ctx context.Context) []string {
		mc := &v1alpha1.MemberCluster{}
		Expect(fleet.Host.Get(ctx, client.ObjectKey{Name: name}, mc)).To(Succeed())
		Expect(mc.Status.Orphans.Names).To(HaveLen(int(mc.Status.Orphans.Count)))
		return mc.Status.Orphans.Names
	}
}

// uid returns a function for Eventually that returns the uid of a ConfigMap on this member.
func (c *TestCluster) uid(name, namespace string) func(context.Context) any {
	return c.field("ConfigMap", namespace, name, "metadata", "uid")
}
