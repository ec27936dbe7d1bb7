// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = Describe("When a MemberCluster is edited to wrong values", func() {
	DescribeTable("names the field in Ready, removes nothing, and recovers when the field is put back",
		func(ctx SpecContext, nonsense func(spec *v1alpha1.MemberClusterSpec), reason string, words ...string) {
			member, managers := fleet.Member("member-3"), managerProcesses(ctx)
			w := author(ctx, build.Federated("settings").In(newShop(ctx)).To("member-1", member.Name).With(build.ConfigMap("settings", "colour", "blue")))
			expectReady(ctx, w)
			version := member.version(ctx, "ConfigMap", w.Namespace, "settings")
			mc := registered(member.Name)
			Expect(fleet.Host.Get(ctx, keyOf(mc), mc)).To(Succeed())
			good := mc.Spec.DeepCopy()
			putBack := func(ctx context.Context) {
				GinkgoHelper()
				edit(ctx, mc, func(mc *v1alpha1.MemberCluster) { mc.Spec = *good.DeepCopy() })
				Eventually(ctx, reread(ctx, mc)).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, ""))
			}
			DeferCleanup(func(ctx SpecContext) { putBack(ctx) })

			edit(ctx, mc, func(mc *v1alpha1.MemberCluster) { nonsense(&mc.Spec) })
			Eventually(ctx, reread(ctx, mc)).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, reason))
			for _, words := range words {
				Expect(conditionMessage(mc, v1alpha1.ConditionReady)).To(ContainSubstring(words))
			}
			edit(ctx, w, func(w *v1alpha1.Federated) {
				w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "colour", "green"))
			})
			if fleet.Sandbox == nil {
				words = words[:1] // a line is shorter than the condition, and cut after the long addresses of kind
			}
			Eventually(ctx, reread(ctx, w)).Should(And(haveLine("member-1", v1alpha1.StateHealthy, ""),
				haveLine(member.Name, v1alpha1.StateUnreachable, reason, words...)))
			Expect(member.version(ctx, "ConfigMap", w.Namespace, "settings")).To(Equal(version))

			putBack(ctx)
			expectReady(ctx, w)
			Expect(member.field("ConfigMap", w.Namespace, "settings", "data", "colour")(ctx)).To(Equal("green"))
			Expect(managerProcesses(ctx)).To(Equal(managers))
		},
		Entry("credentials that do not exist", func(s *v1alpha1.MemberClusterSpec) { s.CredentialsRef.Name = "no/where" },
			v1alpha1.ReasonCredentialsMissing, "Secret fairlead-system/no/where does not exist", "hostctl join member-3", "restore the former spec.credentialsRef"),
		Entry("an endpoint elsewhere", func(s *v1alpha1.MemberClusterSpec) { s.Endpoint = "https://[::1]:99999/x?y" },
			v1alpha1.ReasonEndpointMismatch, "restore the former spec.endpoint", "hostctl join member-3", "https://[::1]:99999/x?y"),
		Entry("a caBundle that is no certificate", func(s *v1alpha1.MemberClusterSpec) { s.CABundle = []byte("nonsense") },
			v1alpha1.ReasonEndpointMismatch, "restore the former spec.caBundle", "hostctl join member-3"),
		Entry("no caBundle", func(s *v1alpha1.MemberClusterSpec) { s.CABundle = nil },
			v1alpha1.ReasonEndpointMismatch, "restore the former spec.caBundle", "hostctl join member-3"),
		Entry("another server name", func(s *v1alpha1.MemberClusterSpec) { s.TLSServerName = "no such name" },
			v1alpha1.ReasonEndpointMismatch, "restore the former spec.tlsServerName", "hostctl join member-3"),
		Entry("a proxy that does not answer", func(s *v1alpha1.MemberClusterSpec) { s.ProxyURL = "socks5://127.0.0.1:1" },
			v1alpha1.ReasonEndpointMismatch, "restore the former spec.proxyURL", "hostctl join member-3", "socks5://127.0.0.1:1"),
	)

	DescribeTable("is refused by the host's API server if its schema finds the fault", func(ctx SpecContext, patch, words string) {
		run := fleet.Kubectl(ctx, "patch", "membercluster", "member-3", "--type=merge", "--dry-run=server", "-p", patch)
		Expect(run.Code).NotTo(BeZero())
		Expect(run.Stderr).To(ContainSubstring(words))
	},
		Entry("an endpoint that is no URL", `{"spec":{"endpoint":"https://a b:99999"}}`, "spec.endpoint: Invalid value: \"https://a b:99999\": endpoint is an https URL"),
		Entry("no endpoint", `{"spec":{"endpoint":null}}`, "spec.endpoint: Required value"),
		Entry("a caBundle that is not base64", `{"spec":{"caBundle":"***"}}`, "spec.caBundle"),
		Entry("no credentials", `{"spec":{"credentialsRef":null}}`, "spec.credentialsRef: Required value"),
		Entry("a proxy that is no URL", `{"spec":{"proxyURL":"http://proxy/?#%zz"}}`, "proxyURL is an http, https or socks5 URL"),
		Entry("a proxy of another protocol", `{"spec":{"proxyURL":"ftp://proxy"}}`, "proxyURL is an http, https or socks5 URL"),
		Entry("a proxy with its password", `{"spec":{"proxyURL":"http://me:secret@proxy"}}`, "proxyURL holds no user and password"),
		Entry("a collector that is no mode", `{"spec":{"collector":"Nobody"}}`, "spec.collector: Unsupported value"),
		Entry("a suspend that is no mode", `{"spec":{"suspend":true}}`, "spec.suspend"),
		Entry("a namespacePolicy that is no policy", `{"spec":{"namespacePolicy":"Whatever"}}`, "spec.namespacePolicy: Unsupported value"),
		Entry("a label with an invalid value", `{"metadata":{"labels":{"cloud":"no such value!"}}}`, "metadata.labels"),
		Entry("a spec that is a list", `{"spec":[]}`, "spec in body must be of type object"),
	)

	It("names the way out for a MemberCluster that was made by hand for no cluster and is being deleted", func(ctx SpecContext) {
		ghost := registered(unique("ghost"))
		ghost.Spec = v1alpha1.MemberClusterSpec{Endpoint: "https://ghost.invalid:6443", CredentialsRef: v1alpha1.CredentialsRef{Name: ghost.Name}}
		Expect(fleet.Host.Create(ctx, ghost)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { fleet.Hostctl(ctx, "unjoin", ghost.Name, "--forget", "--yes") })
		Eventually(ctx, reread(ctx, ghost)).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCredentialsMissing))
		Expect(fleet.Host.Delete(ctx, ghost)).To(Succeed())
		forget := "hostctl unjoin " + ghost.Name + " --forget"
		Eventually(ctx, func(g Gomega) string {
			return conditionMessage(reread(ctx, ghost)(g), v1alpha1.ConditionReady)
		}).Should(ContainSubstring(forget))
		Expect(fleet.Hostctl(ctx, "unjoin", ghost.Name, "--forget", "--yes")).To(HaveField("Code", 0))
		Expect(fleet.Host.lacks(ghost)(ctx)).To(BeTrue())
	})
})
