// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

// withOtherKubernetes does the same as withKubelets. Its specs need a member that runs the node image of KIND_OTHER_NODE_IMAGE: one of
// Kubernetes 1.35, before MutatingAdmissionPolicy was in version v1, and before pods had the field schedulingGroup.
func withOtherKubernetes(text string, body func()) bool {
	return withKubelets(text, func() { Context("with a node image of that version", needsOtherKubernetes, body) })
}

var _ = withOtherKubernetes("When a member has an earlier Kubernetes", func() {
	It("hostctl version names its version, and warns of nothing", func(ctx SpecContext) {
		run := fleet.Hostctl(ctx, "version")
		Expect(run.Code).To(BeZero(), run.Stderr)
		Expect(run.Stdout).To(MatchRegexp(kindclusters.OtherMember + ` .*Kubernetes v1\.35\.`))
		Expect(run.Stdout).To(MatchRegexp(`member-2 .*Kubernetes v1\.36\.`))
		Expect(run.Stdout + run.Stderr).NotTo(ContainSubstring("!"))
	})

	It("a kind that only the later one serves lands there alone, and the earlier one is told as not serving it", func(ctx SpecContext) {
		policy := author(ctx, build.ClusterFederated("policy").To("member-2", kindclusters.OtherMember).With(build.Manifest(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: e2e-versions}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [e2e.fairlead.dev], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]`)))
		Eventually(ctx, reread(ctx, policy)).Should(And(
			haveLine("member-2", v1alpha1.StateHealthy, ""),
			haveLine(kindclusters.OtherMember, v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, "MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1")))
	})

	It("a field that only the later one knows is refused by the earlier one, and told with its name", func(ctx SpecContext) {
		shop := newShop(ctx)
		web := running("web", "serve")
		Expect(unstructured.SetNestedField(web.Object, "none", "spec", "template", "spec", "schedulingGroup", "podGroupName")).To(Succeed())
		w := author(ctx, build.Federated("web").In(shop).To("member-2", kindclusters.OtherMember).With(web, build.ConfigMap("settings", "colour", "blue")))
		Eventually(ctx, reread(ctx, w)).WithTimeout(podsWithin).Should(haveLine(kindclusters.OtherMember, v1alpha1.StateStalled, v1alpha1.ReasonInvalid, "schedulingGroup"))
		Eventually(ctx, fleet.Member(kindclusters.OtherMember).field("ConfigMap", shop, "settings", "data", "colour")).Should(Equal("blue"))
	})
})
