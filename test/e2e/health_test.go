// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// factsWithin bounds the time until the host shows a changed fact. The manager reads each member's facts every 25 seconds.
const factsWithin = time.Minute

// factsOf returns a function for Eventually that reads the facts about a member from its MemberCluster.
func factsOf(member string) func(context.Context) (v1alpha1.MemberFacts, error) {
	return func(ctx context.Context) (v1alpha1.MemberFacts, error) {
		mc := &v1alpha1.MemberCluster{}
		err := fleet.Host.Get(ctx, client.ObjectKey{Name: member}, mc)
		return mc.Status.Facts, err
	}
}

// deployment returns a Deployment with a progress deadline of five seconds. Its pods run only on nodes with the labels in the
// parameter node, which is inline YAML; "" means any node.
func deployment(name, node string) *unstructured.Unstructured {
	return build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  progressDeadlineSeconds: 5
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      nodeSelector: {%[2]s}
      containers: [{name: app, image: "example.com/app:1"}]
`, name, node)
}

// haveState matches a wrapper whose line for the member has this state and all words in its message.
func haveState(member string, state v1alpha1.ClusterState, words ...string) gomegatypes.GomegaMatcher {
	matchers := []gomegatypes.GomegaMatcher{HavePrefix("%s ", state)}
	for _, w := range words {
		matchers = append(matchers, ContainSubstring(w))
	}
	return WithTransform(func(w v1alpha1.Wrapper) string {
		line := lineOf(w, member)
		return fmt.Sprintf("%s %s: %s", line.State, line.Reason, line.Message)
	}, And(matchers...))
}

// speak sets the condition Ready of a custom resource, in place of the controller that the kind does not have here.
func (c *TestCluster) speak(ctx context.Context, kind, namespace, name, ready, reason, message string) {
	GinkgoHelper()
	obj := c.fetch(ctx, kind, namespace, name)
	Expect(obj).NotTo(BeNil(), "%s %s is not on %s", kind, name, c.Name)
	status := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"message":%q,"lastTransitionTime":%q}]}}`,
		ready, reason, message, metav1.Now().UTC().Format("2006-01-02T15:04:05Z"))
	Expect(c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, status))).To(Succeed())
}

var _ = Describe("Health", func() {
	It("of a Deployment is Progressing while it rolls out, Degraded with its own message when it fails, Healthy when it runs", needsSimulation, func(ctx SpecContext) {
		shop := newShop(ctx)
		web := author(ctx, build.Federated("web").In(shop).To("member-1", "member-2").
			With(deployment("web", "")).Overriding(overridesFrom(`
- clusters: {names: [member-2]}
  target: {kind: Deployment}
  merge: {spec: {template: {spec: {nodeSelector: {disk: of-gold}}}}}
`)...))
		Eventually(ctx, reread(ctx, web)).Should(And(
			haveLine("member-1", v1alpha1.StateHealthy, ""),
			haveState("member-2", v1alpha1.StateProgressing, "Deployment web"),
			haveCondition(v1alpha1.ConditionHealthy, metav1.ConditionFalse, "")))
		Eventually(ctx, reread(ctx, web)).Should(And(
			haveLine("member-2", v1alpha1.StateDegraded, "Unschedulable", "Deployment web", "it cannot be scheduled", "Progress deadline exceeded"),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "Unschedulable")))
		Expect(conditionMessage(web, v1alpha1.ConditionReady)).To(ContainSubstring("member-2"))

		edit(ctx, web, func(w *v1alpha1.Federated) { w.Spec.Overrides = nil })
		expectReady(ctx, web)
	})

	It("has the newest warning event of an object that is not Healthy", needsSimulation, needsOpenMembers, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		// The ResourceQuota forbids ReplicaSets, so the Deployment controller cannot create one. It then sends a warning
		// event.
		member.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}})
		member.create(ctx, build.Manifest(`
{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: %s}, spec: {hard: {count/replicasets.apps: "0"}}}`, shop))
		Eventually(ctx, member.field("ResourceQuota", shop, "none", "status", "hard")).ShouldNot(BeNil())
		web := author(ctx, build.Federated("web").In(shop).To("member-1").With(deployment("web", "")))
		Eventually(ctx, reread(ctx, web)).Should(
			haveState("member-1", v1alpha1.StateProgressing, "Deployment web", "Replicas: 0/1", "ReplicaSetCreateError", "exceeded quota"))
	})

	It("of a custom resource follows its conditions, once its controller has observed the present spec", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(openMember)
		kind, plural := newKind("Gauge")
		member.create(ctx, build.CRD(kind, plural))
		full := kind + ".v1.e2e.fairlead.dev"
		gauge := author(ctx, build.Federated("gauge").In(shop).To(openMember).
			With(build.Manifest("{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: g}, spec: {size: 1}}", kind)))
		// Without a status the object is Settling for 30 s. On a busy machine that can be over when the collector begins to watch the new
		// kind, so the spec of the object is changed once more when it watches.
		settles := haveLine(openMember, v1alpha1.StateProgressing, v1alpha1.ReasonSettling, kind+" g")
		Eventually(ctx, reread(ctx, gauge)).Should(Or(settles, beReady()))
		edit(ctx, gauge, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.Manifest("{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: g}, spec: {size: 2}}", kind))
		})
		Eventually(ctx, reread(ctx, gauge)).Should(settles)

		member.speak(ctx, full, shop, "g", "False", "NoPower", "the plug is out")
		Eventually(ctx, reread(ctx, gauge)).Should(haveLine(openMember, v1alpha1.StateProgressing, "NoPower", kind+" g", "the plug is out"))
		member.speak(ctx, full, shop, "g", "True", "Running", "")
		expectReady(ctx, gauge)
	})

	It("tells a member that converges from one that is past its deadline", func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member(openMember)
		kind, plural := newKind("Gauge")
		member.create(ctx, build.CRD(kind, plural))
		full := kind + ".v1.e2e.fairlead.dev"
		wave := build.Wave("all")
		wave.MaxFailures = new(int32(3)) // the rollout does not stop, so nothing but the deadline makes the wrapper Stalled
		gauge := build.Federated("gauge").In(shop).To(openMember).
			With(build.Manifest("{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: g}, spec: {size: 1}}", kind)).InWaves("", wave).Obj()
		gauge.Spec.Rollout.ProgressDeadlineSeconds = 600
		fleet.Host.create(ctx, gauge)
		Eventually(ctx, reread(ctx, gauge)).Should(haveLine(openMember, v1alpha1.StateProgressing, v1alpha1.ReasonSettling, kind+" g"))
		member.speak(ctx, full, shop, "g", "False", "NoPower", "the plug is out")
		Eventually(ctx, reread(ctx, gauge)).Should(And(haveLine(openMember, v1alpha1.StateProgressing, "NoPower", "the plug is out"),
			haveCondition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, "")))
		Expect(conditionMessage(gauge, v1alpha1.ConditionReconciling)).To(And(ContainSubstring(openMember+" has been Progressing since 20"), ContainSubstring("its deadline is 20")))

		edit(ctx, gauge, func(w *v1alpha1.Federated) { w.Spec.Rollout.ProgressDeadlineSeconds = 1 })
		Eventually(ctx, reread(ctx, gauge)).Should(And(haveLine(openMember, v1alpha1.StateProgressing, "NoPower"),
			haveCondition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded)))
		Expect(conditionMessage(gauge, v1alpha1.ConditionStalled)).To(And(ContainSubstring("longer than its deadline of 1s"), ContainSubstring("the plug is out")))
		described := fleet.Hostctl(ctx, "describe", "gauge", "-n", shop)
		Expect(described.Code).To(Equal(exit.Waits), described.Stdout)
		Expect(described.Stdout).To(ContainSubstring("✗ a deadline has passed: " + openMember + " has been Progressing since"))

		member.speak(ctx, full, shop, "g", "True", "Running", "")
		Eventually(ctx, reread(ctx, gauge)).Should(And(beReady(), Not(haveCondition(v1alpha1.ConditionStalled, metav1.ConditionTrue, ""))))
	})

	It("writes nothing on the member for kinds that are healthy once applied", needsSimulation, func(ctx SpecContext) {
		shop := newShop(ctx)
		settings := author(ctx, build.Federated("settings").In(shop).ToMatching().With(build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, settings)
		// When this claim is Ready, the collector has made a pass on the member. That pass judged the ConfigMaps too.
		claim := author(ctx, build.Federated("data").In(shop).ToMatching().With(build.Claim("data")))
		expectReady(ctx, claim)
		for _, member := range fleet.Members() {
			Expect(member.delivery(ctx, settings).Status).To(BeZero(), member.Name)
		}
	})
})

var _ = Describe("A member's facts", func() {
	It("are in the MemberCluster at the host: classes, provisioners, OLM, nodes, zones, version", needsOLM, needsSimulation, func(ctx SpecContext) {
		for member, zones := range map[string][]string{
			"member-1": {"eu-west-1a", "eu-west-1b", "eu-west-1c"},
			"member-2": {"europe-west4-a", "europe-west4-b", "europe-west4-c"},
		} {
			Eventually(ctx, factsOf(member)).WithTimeout(factsWithin).Should(And(
				HaveField("KubernetesVersion", MatchRegexp(`^v1\.\d+\.\d+`)),
				HaveField("StorageClasses", ContainElement(member+"-standard")),
				HaveField("DefaultStorageClasses", Equal([]string{member + "-standard"})),
				HaveField("Provisioners", ContainElements(simulated, "simulated.sandbox.fairlead.dev")),
				HaveField("OLM", Equal([]v1alpha1.OLMGeneration{v1alpha1.OLMV0})),
				HaveField("Nodes", HaveValue(BeEquivalentTo(3))),
				HaveField("Zones", Equal(zones)),
			), member)
		}
	})

	It("follow the member: a second default class, one more node", needsSimulation, func(ctx SpecContext) {
		member, class, node := fleet.Member("member-3"), unique("second"), unique("node")
		second := build.Annotated(build.StorageClass(class), "storageclass.kubernetes.io/is-default-class", "true")
		member.create(ctx, second)
		member.create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{corev1.LabelTopologyZone: "cellar"}}})
		Eventually(ctx, factsOf(member.Name)).WithTimeout(factsWithin).Should(And(
			HaveField("DefaultStorageClasses", ConsistOf("member-3-standard", class)),
			HaveField("Provisioners", ContainElement("nobody.example.com")),
			HaveField("Nodes", HaveValue(BeEquivalentTo(4))),
			HaveField("Zones", ContainElement("cellar"))))
		Expect(member.Delete(ctx, second)).To(Succeed())
		Eventually(ctx, factsOf(member.Name)).WithTimeout(factsWithin).Should(HaveField("DefaultStorageClasses", Equal([]string{"member-3-standard"})))
	})
})
