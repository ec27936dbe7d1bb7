// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = withKubelets("When pods really run", func() {
	It("a Deployment is Ready on every member once its pods run, and again once a new version runs", func(ctx SpecContext) {
		shop := newShop(ctx)
		web := author(ctx, build.Federated("web").In(shop).ToMatching().With(running("web", "serve")))
		expectReadySoon(ctx, web)
		before := map[string]string{}
		for _, member := range fleet.Members() {
			Expect(member.phases(shop, "web")(ctx)).To(Equal([]corev1.PodPhase{corev1.PodRunning}), member.Name)
			before[member.Name] = member.pods(ctx, shop, "web")[0].Name
		}
		next := running("web", "serve")
		next.Object["spec"].(map[string]any)["replicas"] = int64(2)
		next.Object["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["annotations"] = map[string]any{"version": "2"}
		edit(ctx, web, func(w *v1alpha1.Federated) { w.Spec.Objects[0] = build.Raw(next) })
		expectReadySoon(ctx, web)
		for _, member := range fleet.Members() {
			var versions []string
			for _, pod := range member.pods(ctx, shop, "web") {
				if pod.DeletionTimestamp == nil {
					Expect(pod.Name).NotTo(Equal(before[member.Name]))
					versions = append(versions, pod.Annotations["version"]+" "+string(pod.Status.Phase))
				}
			}
			Expect(versions).To(Equal([]string{"2 Running", "2 Running"}), member.Name)
		}
	}, SpecTimeout(specWithin))

	It("a Deployment in a crash loop is Degraded with the last words of the log, and Ready once the crash is mended", func(ctx SpecContext) {
		shop := newShop(ctx)
		web := author(ctx, build.Federated("web").In(shop).To("member-1", "member-2").With(running("web", "crash")))
		Eventually(ctx, reread(ctx, web)).Should(haveState("member-1", v1alpha1.StateProgressing, "Deployment web"))
		for _, name := range []string{"member-1", "member-2"} {
			Eventually(ctx, reread(ctx, web)).WithTimeout(podsWithin).Should(
				haveLine(name, v1alpha1.StateDegraded, "CrashLoopBackOff", "Deployment web", "from its log: "))
		}
		edit(ctx, web, func(w *v1alpha1.Federated) { w.Spec.Objects[0] = build.Raw(running("web", "serve")) })
		expectReadySoon(ctx, web)
	}, SpecTimeout(specWithin))

	It("a Pod in a crash loop, a Pod whose image cannot be pulled and a Pod out of memory are reported with the cause", func(ctx SpecContext) {
		shop := newShop(ctx)
		pod := func(name, policy, container string) *v1alpha1.Federated {
			return author(ctx, build.Federated(name).In(shop).To("member-2").With(build.Manifest(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %[1]s}}
spec: {restartPolicy: %s, terminationGracePeriodSeconds: 1, containers: [%s]}`, name, policy, container)))
		}
		looping := pod("looping", "Always", container("crash"))
		lacking := pod("lacking", "Always", `{name: app, image: "registry.invalid/nothing:1"}`)
		eating := pod("eating", "Never", with(container("eat"), "resources: {limits: {memory: 32Mi}}"))

		Eventually(ctx, reread(ctx, lacking)).WithTimeout(podsWithin).Should(haveState("member-2", v1alpha1.StateDegraded, "Pod lacking", "cannot be pulled"))
		Eventually(ctx, reread(ctx, looping)).WithTimeout(podsWithin).Should(haveState("member-2", v1alpha1.StateDegraded, "Pod looping", "CrashLoop"))
		Eventually(ctx, reread(ctx, eating)).WithTimeout(podsWithin).Should(haveState("member-2", v1alpha1.StateDegraded, "Pod eating", "OOMKilled"))
	}, SpecTimeout(specWithin))

	It("a Job is Ready once it is complete, and Degraded once it has failed", func(ctx SpecContext) {
		shop := newShop(ctx)
		job := func(name, arg string) *v1alpha1.Federated {
			return author(ctx, build.Federated(name).In(shop).To("member-1", "member-2").With(build.Manifest(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [%s]}}`, name, container(arg))))
		}
		done, failing := job("done", "done"), job("failing", "crash")
		expectReadySoon(ctx, done)
		for _, name := range []string{"member-1", "member-2"} {
			Eventually(ctx, reread(ctx, failing)).WithTimeout(podsWithin).Should(haveState(name, v1alpha1.StateDegraded, "Job failing"))
		}
	}, SpecTimeout(specWithin))

	It("a StatefulSet behind a headless Service is Ready once each of its pods is an endpoint", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-2")
		ring := author(ctx, build.Federated("ring").In(shop).To(member.Name).With(
			build.Manifest(`{apiVersion: v1, kind: Service, metadata: {name: ring}, spec: {clusterIP: None, selector: {app: ring}, ports: [{port: 8080}]}}`),
			build.Manifest(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ring}
spec:
  serviceName: ring
  replicas: 2
  selector: {matchLabels: {app: ring}}
  template:
    metadata: {labels: {app: ring}}
    spec: {terminationGracePeriodSeconds: 1, containers: [%s]}`, container("serve"))))
		expectReadySoon(ctx, ring)
		Eventually(ctx, func(ctx context.Context) (names []string) {
			slices := &discoveryv1.EndpointSliceList{}
			Expect(member.List(ctx, slices, client.InNamespace(shop), client.MatchingLabels{discoveryv1.LabelServiceName: "ring"})).To(Succeed())
			for _, slice := range slices.Items {
				for _, endpoint := range slice.Endpoints {
					names = append(names, endpoint.TargetRef.Name)
				}
			}
			return names
		}).Should(ConsistOf("ring-0", "ring-1"))
	}, SpecTimeout(specWithin))

	It("the replicas that an autoscaler sets do not count as drift, and stay when the Deployment is pushed again", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		web := author(ctx, build.Federated("web").In(shop).To(member.Name).With(running("web", "serve"), build.Manifest(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]`)))
		Eventually(ctx, member.field("Deployment", shop, "web", "spec", "replicas")).WithTimeout(podsWithin).Should(BeEquivalentTo(2))
		expectReadySoon(ctx, web)
		next := running("web", "serve")
		next.SetAnnotations(map[string]string{"example.com/version": "2"})
		edit(ctx, web, func(w *v1alpha1.Federated) { w.Spec.Objects[0] = build.Raw(next) })
		Eventually(ctx, member.field("Deployment", shop, "web", "metadata", "annotations", "example.com/version")).Should(Equal("2"))
		expectReadySoon(ctx, web)
		Expect(member.field("Deployment", shop, "web", "spec", "replicas")(ctx)).To(BeEquivalentTo(2))
		Expect(member.phases(shop, "web")(ctx)).To(HaveLen(2))
	}, SpecTimeout(specWithin))
})
