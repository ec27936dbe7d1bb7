// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// overridesFrom formats its arguments as fmt.Sprintf does, and decodes the result as the YAML of spec.overrides.
func overridesFrom(format string, args ...any) []v1alpha1.Override {
	GinkgoHelper()
	var list []v1alpha1.Override
	Expect(yaml.UnmarshalStrict(fmt.Appendf(nil, format, args...), &list)).To(Succeed())
	return list
}

// newKind returns a random kind that no cluster serves yet, and its plural.
func newKind(prefix string) (kind, plural string) {
	kind = prefix + utilrand.String(5)
	return kind, strings.ToLower(kind) + "s"
}

var _ = Describe("Overrides", func() {
	It("change an object with each of the six operations of a JSON patch, for the members that they select", func(ctx SpecContext) {
		shop := newShop(ctx)
		web := author(ctx, build.Federated("web").In(shop).To("member-1", "member-2").
			With(build.ConfigMap("web", "colour", "blue", "old-name", "kept", "size", "10", "debug", "on")).
			Overriding(overridesFrom(`
- clusters: {selectors: [{matchLabels: {cloud: aws}}]}
  target: {kind: ConfigMap, name: web}
  patch:
  - {op: test, path: /data/colour, value: blue}
  - {op: replace, path: /data/colour, value: green}
  - {op: add, path: /data/zoom, value: "2"}
  - {op: add, path: /metadata/labels/tier, value: gold}
  - {op: add, path: /metadata/annotations/example.com~1owner, value: web-team}
  - {op: move, from: /data/old-name, path: /data/new-name}
  - {op: copy, from: /data/size, path: /data/size-limit}
  - {op: remove, path: /data/debug}
`)...))
		expectReady(ctx, web)

		onAWS := fleet.Member("member-1").fetch(ctx, "ConfigMap", shop, "web")
		Expect(onAWS.Object["data"]).To(Equal(map[string]any{
			"colour": "green", "zoom": "2", "new-name": "kept", "size": "10", "size-limit": "10",
		}))
		Expect(onAWS.GetLabels()).To(HaveKeyWithValue("tier", "gold"))
		Expect(onAWS.GetAnnotations()).To(HaveKeyWithValue("example.com/owner", "web-team"))

		elsewhere := fleet.Member("member-2").fetch(ctx, "ConfigMap", shop, "web")
		Expect(elsewhere.Object["data"]).To(Equal(map[string]any{"colour": "blue", "old-name": "kept", "size": "10", "debug": "on"}))
		Expect(elsewhere.GetLabels()).NotTo(HaveKey("tier"))
	})

	It("merge a Deployment's containers by name, and the added fields are removed when the override is deleted", needsSimulation, func(ctx SpecContext) {
		shop := newShop(ctx)
		web := author(ctx, build.Federated("web").In(shop).To("member-1").With(build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "example.com/app:1", env: [{name: COLOUR, value: blue}, {name: SIZE, value: "10"}]}
      - {name: proxy, image: "example.com/proxy:1"}
`)).Overriding(overridesFrom(`
- target: {kind: Deployment, name: web}
  merge: {spec: {template: {spec: {containers: [{name: app, image: "example.com/app:2", env: [{name: COLOUR, value: green}]}]}}}}
`)...))
		member := fleet.Member("member-1")
		Eventually(ctx, member.has("Deployment", shop, "web")).Should(BeTrue())
		containers := func() map[string]string {
			list, _, err := unstructured.NestedSlice(member.fetch(ctx, "Deployment", shop, "web").Object, "spec", "template", "spec", "containers")
			Expect(err).NotTo(HaveOccurred())
			found := map[string]string{}
			for _, item := range list {
				container := item.(map[string]any)
				found[container["name"].(string)] = fmt.Sprint(container["image"], container["env"])
			}
			return found
		}
		Expect(containers()).To(Equal(map[string]string{
			"app":   "example.com/app:2[map[name:COLOUR value:green] map[name:SIZE value:10]]",
			"proxy": "example.com/proxy:1<nil>",
		}))
		expectReady(ctx, web)

		edit(ctx, web, func(w *v1alpha1.Federated) { w.Spec.Overrides = nil })
		Eventually(ctx, containers).Should(HaveKeyWithValue("app", "example.com/app:1[map[name:COLOUR value:blue] map[name:SIZE value:10]]"))
		expectReady(ctx, web)
	})

	It("merge a custom resource as RFC 7386 says: lists are replaced, mappings merged", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(openMember)
		kind, plural := newKind("Widget")
		member.create(ctx, build.CRD(kind, plural))
		author(ctx, build.Federated("widget").In(shop).To(openMember).With(build.Manifest(`
{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: w}, spec: {parts: [{name: wheel, size: 1}, {name: door, size: 2}], paint: {colour: blue, coats: 2}}}
`, kind)).Overriding(overridesFrom(`
- target: {kind: %s}
  merge: {spec: {parts: [{name: wheel, size: 3}], paint: {colour: green}}}
`, kind)...))
		Eventually(ctx, member.field(kind+".v1.e2e.fairlead.dev", shop, "w", "spec")).Should(Equal(map[string]any{
			"parts": []any{map[string]any{"name": "wheel", "size": int64(3)}},
			"paint": map[string]any{"colour": "green", "coats": int64(2)},
		}))
	})

	It("take values from a member's name and labels, or a default if a label is missing, or skip the operation", func(ctx SpecContext) {
		shop := newShop(ctx)
		where := author(ctx, build.Federated("where").In(shop).To("member-1", "member-2").
			With(build.ConfigMap("where", "fixed", "yes")).Overriding(overridesFrom(`
- target: {kind: ConfigMap, name: where}
  patch:
  - {op: add, path: /data/cluster, valueFrom: {fieldPath: metadata.name}}
  - {op: add, path: /data/region, valueFrom: {fieldPath: "metadata.labels['topology.kubernetes.io/region']"}}
  - {op: add, path: /data/tier, valueFrom: {fieldPath: "metadata.labels['e2e.fairlead.dev/nobody-has-it']", default: bronze}}
  - {op: add, path: /data/extra, valueFrom: {fieldPath: "metadata.labels['e2e.fairlead.dev/nobody-has-it']", whenMissing: Skip}}
`)...))
		expectReady(ctx, where)
		for name, region := range map[string]string{"member-1": "eu-west-1", "member-2": "europe-west4"} {
			Expect(fleet.Member(name).field("ConfigMap", shop, "where", "data")(ctx)).To(Equal(map[string]any{
				"fixed": "yes", "cluster": name, "region": region, "tier": "bronze",
			}), name)
		}
	})

	It("stall the member that lacks a label, serve the others, and serve that member once it has the label", func(ctx SpecContext) {
		shop, label := newShop(ctx), unique("e2e.fairlead.dev/tier")
		mark := func(ctx context.Context, value string) error {
			mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "member-2"}}
			return fleet.Host.Patch(ctx, mc, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, label, value)))
		}
		web := author(ctx, build.Federated("web").In(shop).To("member-1", "member-2").With(build.ConfigMap("web", "colour", "blue")).
			Overriding(overridesFrom(`
- clusters: {names: [member-2]}
  target: {kind: ConfigMap, name: web}
  patch:
  - {op: add, path: /data/tier, valueFrom: {fieldPath: "metadata.labels['%s']"}}
`, label)...))
		Eventually(ctx, reread(ctx, web)).Should(And(
			haveLine("member-1", v1alpha1.StateHealthy, ""),
			haveLine("member-2", v1alpha1.StateStalled, v1alpha1.ReasonOverrideInvalid,
				"overrides[0].patch[0]", "adding /data/tier of ConfigMap web", "member member-2", label, "whenMissing: Skip"),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonOverrideInvalid),
			haveCondition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonOverrideInvalid),
		))
		Expect(fleet.Member("member-1").fetch(ctx, "ConfigMap", shop, "web")).NotTo(BeNil())
		Expect(fleet.Member("member-2").fetch(ctx, "ConfigMap", shop, "web")).To(BeNil())

		DeferCleanup(func(ctx SpecContext) { Expect(mark(ctx, "null")).To(Succeed()) })
		Expect(mark(ctx, `"gold"`)).To(Succeed())
		expectReady(ctx, web)
		Expect(fleet.Member("member-2").field("ConfigMap", shop, "web", "data", "tier")(ctx)).To(Equal("gold"))
	})

	It("apply in order, so that a later one wins", func(ctx SpecContext) {
		shop := newShop(ctx)
		web := author(ctx, build.Federated("web").In(shop).To("member-1", "member-2").With(build.ConfigMap("web", "colour", "blue")).
			Overriding(overridesFrom(`
- target: {kind: ConfigMap}
  merge: {data: {colour: green, by: all}}
- clusters: {selectors: [{matchLabels: {cloud: gcp}}]}
  target: {kind: ConfigMap, name: web}
  patch: [{op: replace, path: /data/colour, value: red}]
`)...))
		expectReady(ctx, web)
		Expect(fleet.Member("member-1").field("ConfigMap", shop, "web", "data")(ctx)).To(Equal(map[string]any{"colour": "green", "by": "all"}))
		Expect(fleet.Member("member-2").field("ConfigMap", shop, "web", "data")(ctx)).To(Equal(map[string]any{"colour": "red", "by": "all"}))

		edit(ctx, web, func(w *v1alpha1.Federated) {
			w.Spec.Overrides[0], w.Spec.Overrides[1] = w.Spec.Overrides[1], w.Spec.Overrides[0]
		})
		Eventually(ctx, fleet.Member("member-2").field("ConfigMap", shop, "web", "data", "colour")).Should(Equal("green"))
	})

	DescribeTable("name the override, operation, member and found value if a patch cannot be applied, and leave the member's objects unchanged",
		func(ctx SpecContext, operation string, words ...string) {
			shop, member := newShop(ctx), fleet.Member("member-2")
			web := author(ctx, build.Federated("web").In(shop).To("member-1", "member-2").With(build.ConfigMap("web", "colour", "blue")))
			expectReady(ctx, web)

			edit(ctx, web, func(w *v1alpha1.Federated) {
				w.Spec.Overrides = overridesFrom(`
- target: {kind: ConfigMap}
  merge: {data: {round: "2"}}
- clusters: {names: [member-2]}
  target: {kind: ConfigMap, name: web}
  patch:
  - {op: add, path: /data/first, value: "1"}
  - %s
`, operation)
			})
			Eventually(ctx, reread(ctx, web)).Should(And(
				haveLine("member-1", v1alpha1.StateHealthy, ""),
				haveLine("member-2", v1alpha1.StateStalled, v1alpha1.ReasonOverrideInvalid,
					append(words, "overrides[1].patch[1]", "ConfigMap web", "for member member-2")...),
			))
			Eventually(ctx, fleet.Member("member-1").field("ConfigMap", shop, "web", "data", "round")).Should(Equal("2"))
			Expect(member.field("ConfigMap", shop, "web", "data")(ctx)).To(Equal(map[string]any{"colour": "blue"}), "the object must be unchanged, because one operation of the override failed")
		},
		Entry("a missing path", `{op: replace, path: /data/size, value: "10"}`, "replacing /data/size", "does not exist"),
		Entry("a path that leads through a string", `{op: add, path: /data/colour/shade, value: dark}`, "adding /data/colour/shade", `/data/colour is "blue"`),
		Entry("a test that finds another value", `{op: test, path: /data/colour, value: red}`, "testing /data/colour", `"blue"`),
		Entry("removing a missing value", `{op: remove, path: /metadata/labels/tier}`, "removing /metadata/labels/tier", "/metadata/labels"),
		Entry("removing the name with all metadata", `{op: remove, path: /metadata}`, "removing /metadata", "no override may"),
	)

	DescribeTable("are refused at admission if they would change a protected field",
		func(ctx SpecContext, override, field, why string) {
			shop := newShop(ctx)
			web := build.Federated("web").In(shop).To("member-1").With(build.ConfigMap("web", "colour", "blue")).
				Overriding(overridesFrom("- target: {kind: ConfigMap}\n  %s", override)...).Obj()
			Expect(fleet.Host.Create(ctx, web)).To(MatchError(And(ContainSubstring("spec.overrides[0]."+field), ContainSubstring(why))))
		},
		Entry("apiVersion", `patch: [{op: replace, path: /apiVersion, value: v2}]`, "patch[0].path", "must not make it another"),
		Entry("kind", `merge: {kind: Secret}`, "merge.kind", "must not make it another"),
		Entry("the name", `patch: [{op: replace, path: /metadata/name, value: other}]`, "patch[0].path", "must not make it another"),
		Entry("the name, by a merge", `merge: {metadata: {name: other}}`, "merge.metadata.name", "must not make it another"),
		Entry("the namespace", `patch: [{op: add, path: /metadata/namespace, value: kube-system}]`, "patch[0].path", "must not make it another"),
		Entry("owners", `patch: [{op: add, path: /metadata/ownerReferences, value: []}]`, "patch[0].path", "only the member names the owners of its objects"),
		Entry("finalizers", `merge: {metadata: {finalizers: [example.com/x]}}`, "merge.metadata.finalizers", "finalizer"),
		Entry("status", `patch: [{op: add, path: /status, value: {}}]`, "patch[0].path", "only the member writes it"),
		Entry("the mark on a label", `patch: [{op: add, path: /metadata/labels/federation.fairlead.dev~1uid, value: x}]`, "patch[0].path", "only Fairlead sets its marks"),
		Entry("the mark on an annotation", `merge: {metadata: {annotations: {federation.fairlead.dev/object: x}}}`, "merge.metadata.annotations", "only Fairlead sets its marks"),
		Entry("a name, by moving it away", `patch: [{op: move, from: /metadata/name, path: /data/name}]`, "patch[0].from", "no override may move"),
	)

	It("are refused at admission if their target is no object of the wrapper", func(ctx SpecContext) {
		web := build.Federated("web").In(newShop(ctx)).To("member-1").With(build.ConfigMap("web", "colour", "blue")).
			Overriding(overridesFrom("- target: {kind: ConfigMap, name: webb}\n  merge: {data: {colour: red}}")...).Obj()
		Expect(fleet.Host.Create(ctx, web)).To(MatchError(And(ContainSubstring("spec.overrides[0].target"), ContainSubstring("webb"))))
	})
})
