// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = Describe("When a wrapper is pushed", func() {
	It("records the intent on the member before it applies objects, and then the result", needsAuditLog, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		counting := member.audit()
		w := author(ctx, build.Federated("receipt").In(shop).To(member.Name).With(build.ConfigMap("one"), build.ConfigMap("two")))
		expectReady(ctx, w)
		d := member.delivery(ctx, w)
		Expect(d.Spec.Wrapper).To(Equal(v1alpha1.Identity(w)))
		Expect(d.Spec.Target.Revision).To(Equal(w.Status.UpdateRevision))
		for _, e := range d.Spec.Inventory {
			there := member.fetch(ctx, "ConfigMap", shop, e.Name)
			Expect(e.State).To(Equal(v1alpha1.EntryApplied))
			Expect(e.UID).To(Equal(there.GetUID()))
			Expect(e.Rendering).To(Equal(there.GetAnnotations()[v1alpha1.AnnotationRendering]))
			Expect(e.Fields).NotTo(BeEmpty())
		}
		Eventually(ctx, counting.writesFor).WithArguments(shop).Should(Equal([]string{
			"create namespaces /" + shop, "create deliveries fairlead-system/" + d.Name,
			"patch configmaps " + shop + "/one", "patch configmaps " + shop + "/two", "patch deliveries fairlead-system/" + d.Name,
		}))
	})

	It("keeps ten revisions and those in use, and reuses an old revision", func(ctx SpecContext) {
		shop := newShop(ctx)
		suspended := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "member-3"}}
		resume := func(m *v1alpha1.MemberCluster) { m.Spec.Suspend = v1alpha1.SuspendNone }
		DeferCleanup(func(ctx SpecContext) { edit(ctx, suspended, resume) })
		w := author(ctx, build.Federated("versions").In(shop).To("member-1", suspended.Name).With(build.ConfigMap("settings", "version", "0")))
		expectReady(ctx, w)
		first := w.Status.UpdateRevision
		edit(ctx, suspended, func(m *v1alpha1.MemberCluster) { m.Spec.Suspend = v1alpha1.SuspendPushes })

		version := func(i int) string {
			before := reread(ctx, w)(Default).Status.UpdateRevision
			edit(ctx, w, func(w *v1alpha1.Federated) {
				w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "version", strconv.Itoa(i)))
			})
			Eventually(ctx, reread(ctx, w)).Should(HaveField("Status.UpdateRevision", Not(Equal(before))))
			return w.Status.UpdateRevision
		}
		revisions := func() []string {
			list := &appsv1.ControllerRevisionList{}
			Expect(fleet.Host.List(ctx, list, client.InNamespace(shop))).To(Succeed())
			var names []string
			for _, r := range list.Items {
				Expect(r.Labels).To(HaveKeyWithValue(v1alpha1.LabelUID, string(w.UID)))
				names = append(names, r.Name)
			}
			return names
		}
		var names []string
		for i := 1; i <= 13; i++ {
			names = append(names, version(i))
		}
		Eventually(ctx, reread(ctx, w)).Should(And(
			haveLine("member-1", v1alpha1.StateHealthy, ""), haveLine(suspended.Name, v1alpha1.StateHeld, v1alpha1.ReasonSuspended)))
		Expect(revisions()).To(And(ContainElement(first), ContainElements(names[len(names)-5:]), HaveLen(10)), "the first revision must stay, because member-3 still has it")
		Expect(revisions()).NotTo(ContainElement(names[0]))
		Expect(version(12)).To(Equal(names[11]), "a wrapper with the same content must have the same revision")

		edit(ctx, suspended, resume)
		expectReady(ctx, w)
		Expect(fleet.Member(suspended.Name).field("ConfigMap", shop, "settings", "data", "version")(ctx)).To(Equal("12"))
		Expect(w.Status.CurrentRevision).To(Equal(names[11]))
	})
})
