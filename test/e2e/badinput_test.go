// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// spoilt returns a Federated with one ConfigMap as JSON. Specs pass mistakes in the parameter data (the ConfigMap's data), or in the
// parameter more (text that follows spec.objects).
func spoilt(shop, data, more string) string {
	return fmt.Sprintf(`{"apiVersion":"federation.fairlead.dev/v1alpha1","kind":"Federated","metadata":{"name":"spoilt","namespace":%q},"spec":{`+
		`"placement":{"clusters":{"names":["member-1"]}},"objects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":%s}]%s}}`,
		shop, data, more)
}

// overriding returns a text for the parameter more of the function spoilt: spec.overrides with one override of the ConfigMap. The
// parameter with is the override's patch or merge.
func overriding(with string) string {
	return `,"overrides":[{"target":{"kind":"ConfigMap"},` + with + `}]`
}

func nested(deep int) string { return strings.Repeat("[", deep) + strings.Repeat("]", deep) }

// pastInt64 is a number that no API server can store.
const pastInt64 = "18446744073709551617"

var _ = Describe("When bad input comes to the host", func() {
	// raw sends the text of a wrapper to the host unchanged. kubectl apply would parse the text first, and would refuse
	// some mistakes itself.
	raw := func(ctx SpecContext, shop, wrapper string) Run {
		GinkgoHelper()
		file := filepath.Join(GinkgoT().TempDir(), "wrapper.json")
		Expect(os.WriteFile(file, []byte(wrapper), 0o600)).To(Succeed())
		return fleet.Kubectl(ctx, "create", "-f", file, "--raw", "/apis/federation.fairlead.dev/v1alpha1/namespaces/"+shop+"/federateds?fieldValidation=Strict")
	}
	// stands checks that the host did not store the wrapper, and that the bad input did not crash the manager.
	stands := func(ctx SpecContext, shop string, managers []string) {
		GinkgoHelper()
		Expect(fleet.Host.lacks(build.Federated("spoilt").In(shop).Obj())(ctx)).To(BeTrue())
		Expect(managerProcesses(ctx)).To(Equal(managers))
	}

	DescribeTable("is refused with the field and the way out", func(ctx SpecContext, spec string, words ...string) {
		shop, managers := newShop(ctx), managerProcesses(ctx)
		run := fleet.KubectlWith(ctx, fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: spoilt, namespace: %s}
spec:
%s
`, shop, spec), "create", "-f", "-")
		Expect(run.Code).NotTo(BeZero())
		for _, w := range words {
			Expect(run.Stderr).To(ContainSubstring(w))
		}
		Expect(run.Stderr).NotTo(Or(ContainSubstring("Go struct"), ContainSubstring("webhook")))
		stands(ctx, shop, managers)
	},
		Entry("a selection that is a list", "  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n  placement: {clusters: [member-1]}",
			"spec.placement.clusters", "must be of type object"),
		Entry("a name that is no list", "  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n  placement: {clusters: {names: member-1}}",
			"spec.placement.clusters.names", "must be of type array"),
		Entry("65 objects", "  placement: {clusters: {names: [member-1]}}\n  objects:"+
			strings.Repeat("\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", 65), "spec.objects", "65", "at most 64"),
		Entry("objects over 1 MiB", "  placement: {clusters: {names: [member-1]}}\n  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "+
			strings.Repeat("x", 1<<20)+"}}]", "spec.objects", "1024 KiB", "`hostctl federate` does"),
		Entry("two objects of one name", "  placement: {clusters: {names: [member-1]}}\n  objects:"+
			strings.Repeat("\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", 2), "spec.objects[1]", "ConfigMap a is objects[0] already"),
		Entry("an object in another namespace", "  placement: {clusters: {names: [member-1]}}\n"+
			"  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: elsewhere}}]",
			"spec.objects[0].metadata.namespace", "leave this field out, or write a Federated in namespace elsewhere"),
		Entry("an override of metadata.name", "  placement: {clusters: {names: [member-1]}}\n  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n"+
			"  overrides: [{target: {kind: ConfigMap}, patch: [{op: replace, path: /metadata/name, value: b}]}]",
			"spec.overrides[0].patch[0].path", "no override may change /metadata/name"),
	)

	It("is refused in a ClusterFederated that has a namespaced object", func(ctx SpecContext) {
		run := fleet.KubectlWith(ctx, `
apiVersion: federation.fairlead.dev/v1alpha1
kind: ClusterFederated
metadata: {name: spoilt}
spec:
  placement: {clusters: {names: [member-1]}}
  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}]
`, "create", "-f", "-")
		Expect(run.Stderr).To(And(ContainSubstring("spec.objects[0].metadata.namespace"), ContainSubstring("put namespaced objects into a Federated in namespace shop")))
	})

	DescribeTable("is refused if the API server would store another value than the author wrote", func(ctx SpecContext, data, more string, words ...string) {
		shop, managers := newShop(ctx), managerProcesses(ctx)
		run := raw(ctx, shop, spoilt(shop, data, more))
		Expect(run.Code).NotTo(BeZero())
		for _, w := range words {
			Expect(run.Stderr).To(ContainSubstring(w))
		}
		stands(ctx, shop, managers)
	},
		Entry("a key twice in an object", `{"x":"1","x":"2"}`, "", `duplicate field "spec.objects[0].data.x"`),
		Entry("a key twice in a value", `{}`, overriding(`"patch":[{"op":"add","path":"/data","value":{"x":"1","x":"2"}}]`),
			`duplicate field "spec.overrides[0].patch[0].value.x"`),
		Entry("a key twice in a merge", `{}`, overriding(`"merge":{"data":{"x":"1","x":"2"}}`), `duplicate field "spec.overrides[0].merge.data.x"`),
		Entry("a number past 2^63 in an object", `{"x":`+pastInt64+`}`, "", "spec.objects[0]", `the number at "/data/x" does not fit 64 bits`, "quote it"),
		Entry("a number past 2^63 in a value", `{}`, overriding(`"patch":[{"op":"add","path":"/data","value":{"x":`+pastInt64+`}}]`),
			"spec.overrides[0].patch[0].value", "does not fit 64 bits"),
		Entry("a number past 2^63 in a merge", `{}`, overriding(`"merge":{"data":{"x":`+pastInt64+`}}`), "spec.overrides[0].merge", "does not fit 64 bits"),
		Entry("an object nested 200 deep", `{"x":`+nested(200)+`}`, "", "spec.objects[0]", "nested 202 levels deep, and 100 is the limit"),
		Entry("an object nested 9,990 deep", `{"x":`+nested(9990)+`}`, "", "nested more than 9000 deep"),
		Entry("an object nested 10,000 deep", `{"x":`+nested(10_000)+`}`, "", "exceeded max depth"),
		Entry("a value nested 9,980 deep", `{}`, overriding(`"patch":[{"op":"add","path":"/data","value":`+nested(9980)+`}]`), "nested more than 9000 deep"),
		Entry("a value nested 10,000 deep", `{}`, overriding(`"patch":[{"op":"add","path":"/data","value":`+nested(10_000)+`}]`), "exceeded max depth"),
		Entry("a merge nested 10,000 deep", `{}`, overriding(`"merge":{"data":`+nested(10_000)+`}`), "exceeded max depth"),
	)

	DescribeTable("is refused by hostctl by file, document and field", func(ctx SpecContext, command, input string, words ...string) {
		args := map[string][]string{
			"federate": {"federate", "-f", "-", "-n", "shop", "--all-clusters"},
			"render":   {"render", "-f", "-", "--assume-cluster", "member-1"},
		}[command]
		run := fleet.HostctlWith(ctx, input, args...)
		Expect(run.Code).To(Equal(1))
		Expect(run.Stdout).To(BeEmpty())
		for _, w := range append(words, "standard input, document 1 (line 1)") {
			Expect(run.Stderr).To(ContainSubstring(w))
		}
	},
		Entry("a number past 2^63 in a manifest", "federate", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "+pastInt64+"}}",
			"data.x", "the number "+pastInt64+" does not fit 64 bits", "quote it"),
		Entry("a manifest nested 10,000 deep", "federate", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "+nested(9990)+"}}",
			"data.x[0]", "nested deeper than 100 levels"),
		Entry("a key twice in a manifest in JSON", "federate", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1","x":"2"}}`, "data.x", "occurs twice"),
		Entry("a key twice in the value of a patch", "render", spoilt("shop", "{}", overriding(`"patch":[{"op":"add","path":"/data","value":{"x":"1","x":"2"}}]`)),
			"spec.overrides[0].patch[0].value.x", "occurs twice"),
		Entry("a number past 2^63 in the value of a patch", "render", spoilt("shop", "{}", overriding(`"patch":[{"op":"add","path":"/data","value":{"x":`+pastInt64+`}}]`)),
			"spec.overrides[0].patch[0].value.x", "does not fit 64 bits"),
		Entry("a patch nested 10,000 deep", "render", spoilt("shop", "{}", overriding(`"patch":[{"op":"add","path":"/data","value":`+nested(10_000)+`}]`)),
			"spec.overrides[0].patch[0].value", "nested deeper than 100 levels"),
	)
})
