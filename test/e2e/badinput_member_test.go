// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// gauges returns the CRD of a kind whose spec.size is an integer with a maximum.
func gauges(kind, plural string, maximum int64) *unstructured.Unstructured {
	crd := build.CRD(kind, plural)
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	versions[0].(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{ //nolint:forcetypeassert // as built
		"spec": map[string]any{"type": "object", "properties": map[string]any{"size": map[string]any{"type": "integer", "maximum": maximum}}},
	}}}
	Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
	return crd
}

var _ = Describe("When members refuse objects of a wrapper", func() {
	It("a kind that no member serves is reported for each member, and the other objects are delivered", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("mystery").In(shop).ToMatching().With(custom("Wigdet", "x"), build.ConfigMap("settings")))
		words := []string{"Wigdet x: the member does not serve Wigdet in e2e.fairlead.dev/v1", "CRD or operator", "if apiVersion or kind is wrong, correct it"}
		Eventually(ctx, reread(ctx, w)).Should(And(
			haveLine("member-1", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, words...),
			haveLine("member-2", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, words...),
			haveLine("member-3", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, words...),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAPINotServed)))
		for _, member := range fleet.Members() {
			Eventually(ctx, member.has("ConfigMap", shop, "settings")).Should(BeTrue())
		}
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects = w.Spec.Objects[1:] })
		expectReady(ctx, w)
	})

	It("a patch that one member's schema refuses, and a value over its CRD's maximum, are reported for that member; the others go on", needsOpenMembers, func(ctx SpecContext) {
		shop := newShop(ctx)
		kind, plural := newKind("Gauge")
		full := kind + ".v1.e2e.fairlead.dev"
		for _, member := range fleet.Members() {
			maximum := int64(10)
			if member.Name == "member-3" {
				maximum = 5
			}
			member.create(ctx, gauges(kind, plural, maximum))
		}
		b := build.Federated("gauge").In(shop).ToMatching().With(
			build.Manifest("{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: g}, spec: {size: 7}}", kind), build.ConfigMap("settings"))
		b.Obj().Spec.Overrides = overridesFrom(`
- clusters: {names: [member-2]}
  target: {kind: %s}
  patch: [{op: replace, path: /spec/size, value: plenty}]
`, kind)
		w := author(ctx, b)
		Eventually(ctx, reread(ctx, w)).Should(And(
			haveLine("member-2", v1alpha1.StateStalled, v1alpha1.ReasonInvalid, kind+" g", ".spec.size", "expected numeric", "got string"),
			haveLine("member-3", v1alpha1.StateStalled, v1alpha1.ReasonInvalid, kind+" g", "spec.size", "should be less than or equal to 5")))
		Eventually(ctx, fleet.Member("member-1").field(full, shop, "g", "spec", "size")).Should(Equal(int64(7)))
		for _, member := range fleet.Members() {
			Eventually(ctx, member.has("ConfigMap", shop, "settings")).Should(BeTrue())
		}

		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Overrides = overridesFrom("- {target: {kind: %s}, patch: [{op: replace, path: /spec/size, value: 5}]}", kind)
		})
		for _, member := range fleet.Members() {
			Eventually(ctx, member.field(full, shop, "g", "spec", "size")).Should(Equal(int64(5)))
			member.speak(ctx, full, shop, "g", "True", "Running", "")
		}
		expectReady(ctx, w)
		remove(ctx, w) // before a cleanup deletes the CRD: the manager needs the kind to remove the object
	})

	It("a null in a field that is not nullable is reported with the field and the remedy; hostctl federate leaves it out", func(ctx SpecContext) {
		shop := newShop(ctx)
		kind, plural := newKind("Gauge")
		for _, member := range fleet.Members() {
			member.create(ctx, gauges(kind, plural, 5))
		}
		manifest := fmt.Sprintf("{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: g, namespace: %s}, spec: {size: null}}", kind, shop)
		run := fleet.KubectlWith(ctx, fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: gauge, namespace: %s}
spec:
  placement: {clusters: {names: [%s]}}
  objects: [%s]
`, shop, openMember, manifest), "create", "-f", "-")
		Expect(run.Code).To(BeZero(), run.Stderr)
		Expect(run.Stderr).To(ContainSubstring("Warning: spec.objects[0].spec.size of " + kind + " g is null: remove the field"))
		w := build.Federated("gauge").In(shop).Obj()
		Eventually(ctx, reread(ctx, w)).Should(haveLine(openMember, v1alpha1.StateStalled, v1alpha1.ReasonInvalid,
			kind+" g: null in spec.size: take it out of the wrapper", "`hostctl federate` leaves them out"))

		file := filepath.Join(GinkgoT().TempDir(), "gauge.yaml")
		Expect(os.WriteFile(file, []byte(manifest), 0o600)).To(Succeed())
		run = fleet.Hostctl(ctx, "federate", "-f", file, "--bundle", "gauge", "--clusters", openMember)
		Expect(run.Stderr).To(ContainSubstring("spec.size left out: it was null"))
		Expect(fleet.KubectlWith(ctx, run.Stdout, "replace", "-f", "-").Code).To(BeZero())
		Eventually(ctx, fleet.Member(openMember).has(kind+".v1.e2e.fairlead.dev", shop, "g")).Should(BeTrue())
		Eventually(ctx, reread(ctx, w)).ShouldNot(haveLine(openMember, v1alpha1.StateStalled, v1alpha1.ReasonInvalid))
		remove(ctx, w) // before a cleanup deletes the CRD: the manager needs the kind to remove the object
	})

	It("refusals by a quota and an admission policy are reported as Refused with their own messages; the others go on", func(ctx SpecContext) {
		shop, member, policy := newShop(ctx), fleet.Member("member-2"), unique("no-red")
		Expect(client.IgnoreAlreadyExists(member.Create(ctx, build.Namespace(shop)))).To(Succeed())
		member.create(ctx, build.Manifest("{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: %s}, spec: {hard: {count/services: '0'}}}", shop))
		member.create(ctx, build.Manifest(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]}
  validations: [{expression: "!has(object.data) || object.data.colour != 'red'", message: "red is immutable here: ask the painters"}]
`, policy))
		member.create(ctx, build.Manifest(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}}}
`, policy, shop))
		red := build.ConfigMap("paint", "colour", "red")
		red.SetNamespace(shop)
		service := build.Manifest("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %s}, spec: {ports: [{port: 80}]}}", shop)
		for _, obj := range []*unstructured.Unstructured{red, service} {
			Eventually(ctx, func() error { return member.Create(ctx, obj.DeepCopy(), client.DryRunAll) }).
				Should(Satisfy(func(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) }), "the quota or the policy does not refuse yet")
		}

		paint := author(ctx, build.Federated("paint").In(shop).ToMatching().With(build.ConfigMap("paint", "colour", "red")))
		web := author(ctx, build.Federated("web").In(shop).ToMatching().
			With(build.Manifest("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}")))
		for _, other := range []string{"member-1", "member-3"} {
			Eventually(ctx, reread(ctx, paint)).Should(haveLine(other, v1alpha1.StateHealthy, ""))
			Eventually(ctx, reread(ctx, web)).Should(haveLine(other, v1alpha1.StateHealthy, ""))
		}
		Eventually(ctx, reread(ctx, paint)).Should(haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonRefused,
			"ConfigMap paint", policy, "red is immutable here: ask the painters"))
		Eventually(ctx, reread(ctx, web)).Should(haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonRefused,
			"Service web", "exceeded quota: few", "limited: count/services=0"))
		edit(ctx, paint, func(w *v1alpha1.Federated) { w.Spec.Objects[0] = build.Raw(build.ConfigMap("paint", "colour", "blue")) })
		expectReady(ctx, paint)
	})
})
