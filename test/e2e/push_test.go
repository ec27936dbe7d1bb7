// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = Describe("When an author creates a Federated ConfigMap", func() {
	It("reaches the named members and those that any selector matches", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("settings").In(shop).With(build.ConfigMap("settings", "colour", "blue")).
			To("member-1").ToMatching("cloud", "gcp").ToMatching("cloud", "nowhere"))
		expectReady(ctx, w)

		for kind, reason := range map[string]string{
			v1alpha1.ConditionPlaced: v1alpha1.ReasonPlaced, v1alpha1.ConditionPushed: v1alpha1.ReasonAllUpdated,
			v1alpha1.ConditionHealthy: v1alpha1.ReasonAllHealthy,
		} {
			Expect(w).To(haveCondition(kind, metav1.ConditionTrue, reason))
		}
		Expect(w.Status.Placement.Clusters).To(Equal([]string{"member-1", "member-2"}))
		Expect(w).To(And(haveLine("member-1", v1alpha1.StateHealthy, ""), haveLine("member-2", v1alpha1.StateHealthy, "")))
		for _, name := range []string{"member-1", "member-2"} {
			there := fleet.Member(name).fetch(ctx, "ConfigMap", shop, "settings")
			Expect(there.Object["data"]).To(Equal(map[string]any{"colour": "blue"}))
			Expect(there.GetLabels()).To(HaveKeyWithValue(v1alpha1.LabelUID, string(w.UID)))
			Expect(there.GetAnnotations()).To(And(
				HaveKeyWithValue(v1alpha1.AnnotationWrapper, "federated/"+shop+"/settings"),
				HaveKeyWithValue(v1alpha1.AnnotationObject, "configmaps/"+shop+"/settings"),
				HaveKey(v1alpha1.AnnotationRendering)))
		}
		Expect(fleet.Member("member-3").has("ConfigMap", shop, "settings")(ctx)).To(BeFalse())

		columns := strings.Split(strings.TrimSpace(fleet.Kubectl(ctx, "get", "fed", "-n", shop).Stdout), "\n")
		Expect(columns).To(HaveLen(2))
		Expect(strings.Fields(columns[0])).To(Equal([]string{"NAME", "READY", "UPDATED", "HEALTHY", "REASON", "AGE"}))
		Expect(strings.Fields(columns[1])[:4]).To(Equal([]string{"settings", "True", "2", "2"}))
		Expect(fleet.Kubectl(ctx, "get", "federation", "-A").Stdout).To(ContainSubstring("settings"))
		Expect(fleet.Kubectl(ctx, "wait", "--for=condition=Ready", "-n", shop, "fed/settings", "--timeout=5s").Code).To(BeZero())
	})

	It("makes a missing namespace on a member, labels it as made by Fairlead and copies the host's Pod Security labels", func(ctx SpecContext) {
		shop := newShop(ctx)
		at := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`))
		Expect(fleet.Host.Patch(ctx, at, patch)).To(Succeed())
		w := author(ctx, build.Federated("settings").In(shop).With(build.ConfigMap("settings")).To(openMember))
		expectReady(ctx, w)
		Expect(fleet.Member(openMember).fetch(ctx, "Namespace", "", shop).GetLabels()).To(And(
			HaveKeyWithValue(v1alpha1.LabelMade, "true"), HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))
		remove(ctx, w)
		Expect(fleet.Member(openMember).fetch(ctx, "Namespace", "", shop).GetDeletionTimestamp()).To(BeNil(), "the deletion of a Federated must not delete the namespace")
	})

	It("reports a name in spec.placement that no MemberCluster has, and serves the others", func(ctx SpecContext) {
		w := author(ctx, build.Federated("settings").In(newShop(ctx)).With(build.ConfigMap("settings")).To("member-1", "atlantis"))
		Eventually(ctx, reread(ctx, w)).Should(And(
			haveCondition(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonClusterNotFound),
			haveLine("member-1", v1alpha1.StateHealthy, "")))
		Expect(conditionMessage(w, v1alpha1.ConditionPlaced)).To(ContainSubstring("atlantis"))
		Expect(w.Status.Placement.NotFound).To(Equal([]string{"atlantis"}))
		Expect(w).To(haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonClusterNotFound))
		Expect(fleet.Member("member-1").has("ConfigMap", w.Namespace, "settings")(ctx)).To(BeTrue())
	})

	It("warns if an override names a cluster that no MemberCluster has, and stays Ready", func(ctx SpecContext) {
		shop := newShop(ctx)
		run := fleet.KubectlWith(ctx, fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: settings, namespace: %s}
spec:
  placement: {clusters: {names: [member-1]}}
  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}]
  overrides:
  - clusters: {names: [member-1, atlantis]}
    target: {kind: ConfigMap}
    patch: [{op: add, path: /data, value: {a: b}}]
`, shop), "create", "-f", "-")
		Expect(run.Code).To(BeZero(), run.Stderr)
		w := build.Federated("settings").In(shop).Obj()
		fleet.Host.deleteAfter(w) // the deletion of the namespace would leave its objects on the member
		Expect(run.Stderr).To(ContainSubstring("Warning: spec.overrides[0].clusters.names: no MemberCluster is named atlantis"))
		Eventually(ctx, reread(ctx, w)).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonClusterNotFound))
		Expect(conditionMessage(w, v1alpha1.ConditionReady)).To(ContainSubstring("spec.overrides[0].clusters.names: no MemberCluster is named atlantis"))
		Expect(fleet.Hostctl(ctx, "render", "settings", "-n", shop).Stderr).To(ContainSubstring("no MemberCluster is named atlantis"))
	})

	It("reports that no member matches the placement", func(ctx SpecContext) {
		w := author(ctx, build.Federated("settings").In(newShop(ctx)).With(build.ConfigMap("settings")).ToMatching("cloud", "nowhere"))
		Eventually(ctx, reread(ctx, w)).Should(And(
			haveCondition(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches)))
	})
})

var _ = Describe("When a member's labels change", func() {
	It("gets and loses the wrappers whose placement selects by these labels", func(ctx SpecContext) {
		w := author(ctx, build.Federated("settings").In(newShop(ctx)).With(build.ConfigMap("settings")).ToMatching("e2e", "labels"))
		Eventually(ctx, reread(ctx, w)).Should(haveCondition(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches))

		m3 := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "member-3"}}
		unlabel := func(m *v1alpha1.MemberCluster) { delete(m.Labels, "e2e") }
		DeferCleanup(func(ctx SpecContext) { edit(ctx, m3, unlabel) })
		edit(ctx, m3, func(m *v1alpha1.MemberCluster) { m.Labels["e2e"] = "labels" })
		expectReady(ctx, w)
		Expect(fleet.Member("member-3").has("ConfigMap", w.Namespace, "settings")(ctx)).To(BeTrue())
		edit(ctx, m3, unlabel)
		Eventually(ctx, fleet.Member("member-3").has("ConfigMap", w.Namespace, "settings")).Should(BeFalse())
	})
})

var _ = Describe("When an object's scope is not its wrapper's", func() {
	It("is reported as ScopeMismatch, and the other objects are pushed", func(ctx SpecContext) {
		shop, name := newShop(ctx), unique("scope")
		crd := build.CRD("Gadget", "gadgets")
		crd.Object["spec"].(map[string]any)["scope"] = "Cluster" //nolint:forcetypeassert // as built above
		member := fleet.Member(openMember)
		member.create(ctx, crd)
		gadget := build.Manifest("{apiVersion: e2e.fairlead.dev/v1, kind: Gadget, metadata: {name: %s}}", name)
		Eventually(ctx, func() error { return member.Get(ctx, keyOf(gadget), gadget.DeepCopy()) }).
			Should(MatchError(ContainSubstring("not found")))

		wide := author(ctx, build.Federated("wide").In(shop).With(gadget, build.ConfigMap("settings")).To(openMember))
		narrow := author(ctx, build.ClusterFederated(name).With(build.ConfigMap("settings"), build.StorageClass(name)).
			To(openMember).OnDelete(v1alpha1.DeleteAll))
		Eventually(ctx, reread(ctx, wide)).Should(
			haveLine(openMember, v1alpha1.StateStalled, v1alpha1.ReasonScopeMismatch, "Gadget", "ClusterFederated"))
		Eventually(ctx, reread(ctx, narrow)).Should(
			haveLine(openMember, v1alpha1.StateStalled, v1alpha1.ReasonScopeMismatch, "ConfigMap", "Federated"))
		Expect(member.has("ConfigMap", shop, "settings")(ctx)).To(BeTrue())
		Expect(member.has("StorageClass", "", name)(ctx)).To(BeTrue())
	})
})
