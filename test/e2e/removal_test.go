// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = Describe("When an author removes objects or members from a wrapper", func() {
	It("removes the dropped object, and only that", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("bundle").In(shop).To("member-1", "member-2").With(build.ConfigMap("stays"), build.ConfigMap("goes")))
		expectReady(ctx, w)
		before := fleet.Member("member-1").version(ctx, "ConfigMap", shop, "stays")
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects = w.Spec.Objects[:1] })
		for _, name := range []string{"member-1", "member-2"} {
			Eventually(ctx, fleet.Member(name).has("ConfigMap", shop, "goes")).Should(BeFalse())
		}
		expectReady(ctx, w)
		Expect(fleet.Member("member-1").version(ctx, "ConfigMap", shop, "stays")).To(Equal(before))
		Expect(fleet.Member("member-1").delivery(ctx, w).Spec.Inventory).To(HaveLen(1))
	})

	It("leaves the members that an edit of the placement drops, as onDelete says", needsSimulation, func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("moving").In(shop).To("member-1", "member-2").With(build.ConfigMap("settings"), build.Claim("data")))
		left := fleet.Member("member-2")
		Eventually(ctx, left.has("PersistentVolumeClaim", shop, "data")).Should(BeTrue())
		expectReady(ctx, w)
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Names = []string{"member-1"} })
		Eventually(ctx, left.has("ConfigMap", shop, "settings")).Should(BeFalse())
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(),
			WithTransform(func(w *v1alpha1.Federated) v1alpha1.PlacementStatus { return w.Status.Placement },
				And(HaveField("Clusters", []string{"member-1"}), HaveField("Leaving", BeEmpty())))))
		Expect(left.has("PersistentVolumeClaim", shop, "data")(ctx)).To(BeTrue(), "claims hold data, so onDelete KeepData keeps them")
		Expect(left.delivery(ctx, w)).To(BeNil())
		Expect(fleet.Member("member-1").has("ConfigMap", shop, "settings")(ctx)).To(BeTrue())
	})

	It("keeps the objects that onDelete and the keep annotation name", needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		bundle := func(name string, policy v1alpha1.DeletionPolicy) *v1alpha1.Federated {
			return author(ctx, build.Federated(name).In(shop).To(member.Name).OnDelete(policy).With(
				build.ConfigMap(name), build.Kept(build.ConfigMap(name+"-keep"), "true"),
				build.Claim(name), build.Kept(build.Claim(name+"-drop"), "false")))
		}
		wrappers := []*v1alpha1.Federated{
			bundle("keep-data", v1alpha1.KeepData), bundle("delete-all", v1alpha1.DeleteAll), bundle("keep-all", v1alpha1.KeepAll),
		}
		for _, w := range wrappers {
			expectReady(ctx, w)
		}
		for _, w := range wrappers {
			remove(ctx, w)
		}
		var kept []string
		for _, name := range []string{"keep-data", "delete-all", "keep-all"} {
			for _, obj := range []string{
				"ConfigMap " + name, "ConfigMap " + name + "-keep", "PersistentVolumeClaim " + name, "PersistentVolumeClaim " + name + "-drop",
			} {
				kind, object, _ := strings.Cut(obj, " ")
				if there := member.fetch(ctx, kind, shop, object); there != nil && there.GetDeletionTimestamp() == nil {
					kept = append(kept, obj)
				}
			}
		}
		Expect(kept).To(Equal([]string{
			"ConfigMap keep-data-keep", "PersistentVolumeClaim keep-data",
			"ConfigMap delete-all-keep",
			"ConfigMap keep-all", "ConfigMap keep-all-keep", "PersistentVolumeClaim keep-all", "PersistentVolumeClaim keep-all-drop",
		}))
	})

	It("keeps objects that data depends on, and a wrapper that is created again adopts them", func(ctx SpecContext) {
		name, member := unique("ground"), fleet.Member("member-3")
		crd := build.CRD("Widget", "widgets")
		volume := build.Manifest(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: none, hostPath: {path: /nowhere}}
`, name)
		role := build.Manifest("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}, rules: []}", name)
		ground := func(policy v1alpha1.DeletionPolicy) *v1alpha1.ClusterFederated {
			w := author(ctx, build.ClusterFederated(name).To(member.Name).OnDelete(policy).
				With(build.Namespace(name), crd, build.StorageClass(name), volume, role))
			expectReady(ctx, w)
			return w
		}
		kept := map[string]string{"Namespace": name, "CustomResourceDefinition": crd.GetName(), "StorageClass": name, "PersistentVolume": name}
		remove(ctx, ground(v1alpha1.KeepData))
		Expect(member.has("ClusterRole", "", name)(ctx)).To(BeFalse())
		for kind, name := range kept {
			Expect(member.has(kind, "", name)(ctx)).To(BeTrue(), kind)
		}
		remove(ctx, ground(v1alpha1.DeleteAll))
		for kind, name := range kept {
			Expect(member.has(kind, "", name)(ctx)).To(BeFalse(), kind)
		}
	})

	It("deletes no Namespace with objects of others, and names them", func(ctx SpecContext) {
		name, member := unique("shared"), fleet.Member("member-3")
		w := author(ctx, build.ClusterFederated(name).To(member.Name).OnDelete(v1alpha1.DeleteAll).With(build.Namespace(name)))
		expectReady(ctx, w)
		member.furnish(ctx, name, "theirs", "red", "helm")
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(member.Delete(ctx, build.Namespace(name)))).To(Succeed())
		})
		Expect(fleet.Host.Delete(ctx, w)).To(Succeed())
		Eventually(ctx, reread(ctx, w)).Should(
			haveLine(member.Name, v1alpha1.StateRemoving, v1alpha1.ReasonNotEmpty, "configmaps/theirs", "KeepData"))
		edit(ctx, w, func(w *v1alpha1.ClusterFederated) { w.Spec.OnDelete = v1alpha1.KeepData })
		Eventually(ctx, fleet.Host.lacks(w)).Should(BeTrue())
		Expect(member.has("ConfigMap", name, "theirs")(ctx)).To(BeTrue())
	})

	It("removes in the reverse of the order of installation", needsAuditLog, needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		counting := member.audit()
		w := author(ctx, build.Federated("app").In(shop).To(member.Name).With(
			build.Manifest("{apiVersion: v1, kind: Service, metadata: {name: app}, spec: {selector: {app: app}, ports: [{port: 80}]}}"),
			build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template: {metadata: {labels: {app: app}}, spec: {serviceAccountName: app, containers: [{name: app, image: simulated}]}}
`),
			build.ConfigMap("app"),
			build.Manifest("{apiVersion: v1, kind: ServiceAccount, metadata: {name: app}}")))
		expectReady(ctx, w)
		applied := func(verb string) []string {
			var order []string
			for _, r := range counting.requests(request.IsFairleads, func(r request) bool { return r.Verb == verb && r.Object.Namespace == shop }) {
				order = append(order, r.Object.Resource)
			}
			return order
		}
		var installed []string
		Eventually(ctx, func() []string { installed = applied("patch"); return installed }).Should(HaveLen(4))
		remove(ctx, w)
		var removed []string
		Eventually(ctx, func() []string { removed = applied("delete"); return removed }).Should(HaveLen(4))
		slices.Reverse(removed)
		Expect(removed).To(Equal(installed))
		Expect(slices.Index(installed, "serviceaccounts")).To(BeNumerically("<", slices.Index(installed, "deployments")))
	})

	It("leaves members alone when the host's namespace is deleted", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		w := author(ctx, build.Federated("swept").In(shop).To(member.Name).OnDelete(v1alpha1.DeleteAll).
			With(build.ConfigMap("swept", "colour", "blue")))
		expectReady(ctx, w)
		before := member.version(ctx, "ConfigMap", shop, "swept")
		namespace := build.Namespace(shop)
		Expect(fleet.Host.Delete(ctx, namespace)).To(Succeed())
		Eventually(ctx, fleet.Host.lacks(namespace)).Should(BeTrue())
		Expect(fleet.Host.lacks(w)(ctx)).To(BeTrue())
		Expect(member.version(ctx, "ConfigMap", shop, "swept")).To(Equal(before))
		orphan := member.delivery(ctx, w)
		Expect(orphan).NotTo(BeNil(), "the Delivery of the deleted wrapper must stay on the member")
		Expect(member.Delete(ctx, orphan)).To(Succeed())
	})
})

var _ = Describe("When a wrapper is suspended", func() {
	It("gets no changes until it is resumed, but can be deleted", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-2")
		w := author(ctx, build.Federated("paused").In(shop).To(member.Name).With(build.ConfigMap("paused", "colour", "blue")))
		expectReady(ctx, w)
		colour := func(value string, suspend v1alpha1.SuspendPolicy) {
			GinkgoHelper()
			edit(ctx, w, func(w *v1alpha1.Federated) {
				w.Spec.Suspend = suspend
				w.Spec.Objects[0] = build.Raw(build.ConfigMap("paused", "colour", value))
			})
		}
		colour("green", v1alpha1.SuspendAll)
		Eventually(ctx, reread(ctx, w)).Should(haveLine(member.Name, v1alpha1.StateHeld, v1alpha1.ReasonSuspended))
		Expect(w).To(haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended))
		Expect(member.field("ConfigMap", shop, "paused", "data", "colour")(ctx)).To(Equal("blue"))

		colour("green", v1alpha1.SuspendNone)
		expectReady(ctx, w)
		Expect(member.field("ConfigMap", shop, "paused", "data", "colour")(ctx)).To(Equal("green"))

		colour("red", v1alpha1.SuspendAll)
		Eventually(ctx, reread(ctx, w)).Should(haveLine(member.Name, v1alpha1.StateHeld, v1alpha1.ReasonSuspended))
		remove(ctx, w)
		Expect(member.has("ConfigMap", shop, "paused")(ctx)).To(BeFalse())
	})
})
