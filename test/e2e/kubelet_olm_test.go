// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

// operatorImages returns a function for Eventually that lists the images of the demo operator's running pods.
func (c *TestCluster) operatorImages(namespace string) func(context.Context) []string {
	return func(ctx context.Context) (images []string) {
		list := &corev1.PodList{}
		Expect(c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": demooperator.Name})).To(Succeed())
		for _, pod := range list.Items {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				images = append(images, pod.Spec.Containers[0].Image)
			}
		}
		return images
	}
}

// olmInPods returns the OLM that runs in pods of member.
func olmInPods(member *TestCluster) olm.Pods {
	GinkgoHelper()
	config, err := fleet.RESTConfig(member.Name)
	Expect(err).NotTo(HaveOccurred())
	return olm.Pods{REST: config, Image: kindclusters.OLMImage}
}

var _ = withKubelets("When OLM and its operators run in pods", func() {
	It("a Subscription installs the demo operator as a pod, which serves, and upgrades it when a version is published", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(kindclusters.OLMMember)
		pods := olmInPods(member)
		Expect(pods.Install(ctx, olm.Bundle{Version: "v1.0.0"})).To(Succeed())

		operator := author(ctx, build.Federated("operator").In(shop).To(member.Name).
			With(operatorGroup(shop), subscription(demooperator.Name, "Automatic")))
		Eventually(ctx, reread(ctx, operator)).WithTimeout(podsWithin).Should(And(beReady(), haveVersion(member.Name, "v1.0.0")))
		Expect(member.operatorImages(shop)(ctx)).To(Equal([]string{demooperator.Image("v1.0.0")}))
		greeting := author(ctx, build.Federated("greeting").In(shop).To(member.Name).With(build.Manifest(`
apiVersion: %s
kind: %s
metadata: {name: hello}
spec: {message: Hello, recipients: [ada]}`, demooperator.GroupVersion, demooperator.Kind)))
		expectReadySoon(ctx, greeting)
		servedBy := member.field("ConfigMap", shop, "hello-messages", "data", "operator-version")
		Eventually(ctx, servedBy).Should(Equal("v1.0.0"))

		Expect(pods.Install(ctx, olm.Bundle{Version: "v1.0.0"}, olm.Bundle{Version: "v1.1.0"})).To(Succeed())
		Eventually(ctx, reread(ctx, operator)).WithTimeout(podsWithin).Should(And(beReady(), haveVersion(member.Name, "v1.1.0")))
		Eventually(ctx, servedBy).WithTimeout(podsWithin).Should(Equal("v1.1.0"))
		Eventually(ctx, member.operatorImages(shop)).Should(Equal([]string{demooperator.Image("v1.1.0")}))

		remove(ctx, greeting)
		remove(ctx, operator)
		Eventually(ctx, told(shop, "operator", v1alpha1.ReasonOperatorLeft)).Should(ConsistOf(ContainSubstring(demoCSV("v1.1.0"))))
		Expect(member.operatorImages(shop)(ctx)).To(HaveLen(1), "the operator stays")
	}, SpecTimeout(specWithin))

	It("a member without OLM gets the other objects, is told as not serving the Subscription, and does not hold the member with OLM", func(ctx SpecContext) {
		shop, with, without := newShop(ctx), fleet.Member(kindclusters.OLMMember), fleet.Member("member-2")
		Expect(olmInPods(with).Install(ctx, olm.Bundle{Version: "v1.0.0"})).To(Succeed())
		operator := author(ctx, build.Federated("operator").In(shop).To(with.Name, without.Name).
			With(operatorGroup(shop), subscription(demooperator.Name, "Automatic"), build.ConfigMap("settings", "colour", "blue")))
		Eventually(ctx, reread(ctx, operator)).WithTimeout(podsWithin).Should(And(
			haveLine(with.Name, v1alpha1.StateHealthy, ""), haveVersion(with.Name, "v1.0.0"),
			haveLine(without.Name, v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, "does not serve OperatorGroup in operators.coreos.com/v1")))
		Eventually(ctx, without.field("ConfigMap", shop, "settings", "data", "colour")).Should(Equal("blue"))
	}, SpecTimeout(specWithin))

	It("the cause of a fault of an operator is told at the host, with a line of the operator's log", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(kindclusters.OLMMember)
		pods := olmInPods(member)
		DeferCleanup(func(ctx SpecContext) { Expect(pods.Install(ctx, olm.Bundle{Version: "v1.0.0"})).To(Succeed()) }, NodeTimeout(podsWithin))
		Expect(pods.Install(ctx, olm.Bundle{Version: "v1.2.0", Crashes: true})).To(Succeed())
		operator := &fault{number: "18", name: "operator", state: v1alpha1.StateDegraded, reason: "CrashLoopBackOff", sign: podFails,
			words: []string{"Subscription demo: pod demo-operator-", "container operator ended with exit code 1", "from its log: ", "no such file or directory"}, evidence: []string{"no such file or directory"},
			wrapper: build.Federated("operator").In(shop).To(member.Name).With(operatorGroup(shop), subscription(demooperator.Name, "Manual")).UpTo("demo", demoCSV("v1.2.0"))}
		expectTold(ctx, []*fault{operator}, podsWithin)
		logs := fleet.Hostctl(ctx, "logs", operator.placed.Name, "-n", shop)
		Expect(logs.Code).To(BeZero(), logs.Stderr)
		Expect(logs.Stdout).To(MatchRegexp(`(?m)^\[` + member.Name + `/demo-operator-[^/]+/operator\] .*no such file or directory`))
	}, SpecTimeout(specWithin))
})
