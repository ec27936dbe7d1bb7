// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// keeper returns a Deployment whose pod writes random data and its digest to the claim named data, and prints the digest at each start.
func keeper() *unstructured.Unstructured {
	return build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: keeper}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: keeper}}
  template:
    metadata: {labels: {app: keeper}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [%s]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`, container("keep", "/data/file")[:len(container("keep", "/data/file"))-1]+`, volumeMounts: [{name: data, mountPath: /data}]}`)
}

var _ = withKubelets("When pods keep data on volumes of their node", func() {
	It("the data stays when the wrapper leaves the member, when the member is unjoined, and when the wrapper is deleted", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-2")
		bundle := func() *build.Builder[*v1alpha1.Federated] {
			return build.Federated("data").In(shop).To(member.Name).With(build.Claim("data"))
		}
		By("the claim being Waiting until a pod uses it")
		data := author(ctx, bundle())
		Eventually(ctx, reread(ctx, data)).Should(haveLine(member.Name, v1alpha1.StateWaiting, v1alpha1.ReasonWaitForFirstConsumer, "PersistentVolumeClaim data"))
		edit(ctx, data, func(w *v1alpha1.Federated) { w.Spec.Objects = append(w.Spec.Objects, build.Raw(keeper())) })
		expectReadySoon(ctx, data)
		sum, claim := member.sum(ctx, shop, "keeper"), member.claim(ctx, shop, "data").UID
		unharmed := func(what string) {
			GinkgoHelper()
			expectReadySoon(ctx, data)
			Expect(member.claim(ctx, shop, "data").UID).To(Equal(claim), what)
			Expect(member.sum(ctx, shop, "keeper")).To(Equal(sum), what)
		}

		By("leaving the member, and coming back")
		edit(ctx, data, func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Names = []string{"member-1"} })
		Eventually(ctx, member.has("Deployment", shop, "keeper")).WithTimeout(podsWithin).Should(BeFalse())
		Expect(member.claim(ctx, shop, "data").DeletionTimestamp).To(BeNil(), "the claim must stay, because it holds data")
		edit(ctx, data, func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Names = []string{member.Name} })
		// The wrapper leaves a second member within the hour, so this removal waits for a person.
		Eventually(ctx, reread(ctx, data)).Should(haveLine("member-1", v1alpha1.StateHeld, v1alpha1.ReasonRemovalNeedsApproval))
		approve(ctx, data.Name, "-n", shop, "--removal")
		unharmed("after it came back")

		By("unjoining the member, and joining it again")
		DeferCleanup(func(ctx SpecContext) {
			Expect(fleet.Hostctl(ctx, onKind().JoinArgs(2, member.Name)...)).To(HaveField("Code", 0))
		})
		pod := member.pods(ctx, shop, "keeper")[0].UID
		Expect(fleet.Hostctl(ctx, "unjoin", member.Name, "--yes")).To(HaveField("Code", 0))
		Expect(member.pods(ctx, shop, "keeper")[0].UID).To(Equal(pod), "workloads stay")
		Expect(fleet.Hostctl(ctx, onKind().JoinArgs(2, member.Name)...)).To(HaveField("Code", 0))
		unharmed("after it was joined again")
		Expect(member.pods(ctx, shop, "keeper")[0].UID).To(Equal(pod), "the pod must be the same as before")

		By("deleting the wrapper, and making it again")
		remove(ctx, data)
		Expect(member.has("Deployment", shop, "keeper")(ctx)).To(BeFalse())
		Expect(member.claim(ctx, shop, "data").DeletionTimestamp).To(BeNil())
		again := bundle().Obj()
		again.Spec.Objects = append(again.Spec.Objects, build.Raw(keeper()))
		fleet.Host.create(ctx, again)
		data = again
		unharmed("after the wrapper was made again")
	}, SpecTimeout(specWithin))
})
