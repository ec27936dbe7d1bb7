// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// olmPatience bounds one installation or upgrade by OLM on a busy machine.
const olmPatience = 2 * time.Minute

const (
	csvKind  = "ClusterServiceVersion.v1alpha1.operators.coreos.com"
	planKind = "InstallPlan.v1alpha1.operators.coreos.com"
)

// operatorGroup returns an OperatorGroup that selects only this namespace.
func operatorGroup(namespace string) *unstructured.Unstructured {
	return build.Manifest(`{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: shop}, spec: {targetNamespaces: [%s]}}`, namespace)
}

// subscription returns a Subscription to a package of the sandbox's catalog; approval is Automatic or Manual.
func subscription(pkg, approval string) *unstructured.Unstructured {
	return build.Manifest(`
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: demo}
spec: {name: %s, channel: stable, source: demo-catalog, sourceNamespace: olm, installPlanApproval: %s}
`, pkg, approval)
}

// csvPhase returns the phase of a ClusterServiceVersion (CSV) on this member, or "" if the CSV does not exist.
func (c *TestCluster) csvPhase(ctx context.Context, namespace, csv string) string {
	GinkgoHelper()
	phase, _ := c.field(csvKind, namespace, csv, "status", "phase")(ctx).(string)
	return phase
}

// publishNext adds the next version of the demo operator to a member's catalog. If earlier runs on the same sandbox have published
// every version, it skips the spec.
func publishNext(ctx context.Context, member string) (csv string) {
	GinkgoHelper()
	target, err := fleet.Sandbox.OLMCluster(member)
	Expect(err).NotTo(HaveOccurred())
	for _, version := range demooperator.Versions() {
		did, err := olm.Publish(ctx, target, version)
		Expect(err).NotTo(HaveOccurred())
		if did == olm.Published {
			return demooperator.Name + "." + version
		}
	}
	Skip("every version has been published on " + member + " by earlier runs: take the kept sandbox down")
	return ""
}

var _ = Describe("OLM", func() {
	It("installs from a Subscription, which is Healthy when its CSV has succeeded, and reports the operator that stays when the wrapper leaves", needsOLM, func(ctx SpecContext) {
		shop := newShop(ctx)
		operator := author(ctx, build.Federated("operator").In(shop).To("member-1", "member-2").
			With(operatorGroup(shop), subscription(demooperator.Name, "Automatic")))
		// The line must not be Healthy before the CSV has succeeded. The Subscription's own status does not show
		// whether it has.
		Eventually(ctx, func(g Gomega) {
			w := reread(ctx, operator)(g)
			for _, name := range operator.Spec.Placement.Clusters.Names {
				if line := lineOf(w, name); line.State == v1alpha1.StateHealthy {
					if phase := fleet.Member(name).csvPhase(ctx, shop, line.Version); phase != "Succeeded" {
						StopTrying("the line is Healthy on " + name + " while the CSV " + line.Version + " is " + phase).Now()
					}
				}
			}
			g.Expect(w).To(beReady())
		}).WithTimeout(olmPatience).Should(Succeed())
		csvs := make(map[string]string)
		for _, name := range operator.Spec.Placement.Clusters.Names {
			line := lineOf(operator, name)
			Expect(line).To(And(HaveField("Version", HavePrefix(demooperator.Name+".v")), HaveField("Reason", BeEmpty())))
			csvs[name] = line.Version
		}

		remove(ctx, operator)
		var notes []any
		for name, csv := range csvs {
			Expect(fleet.Member(name).csvPhase(ctx, shop, csv)).NotTo(BeEmpty()) // without the OperatorGroup, OLM may call it Failed
			notes = append(notes, And(HavePrefix("on member %s the operator stays", name), HaveSuffix("ClusterServiceVersion %s/%s", shop, csv)))
		}
		Eventually(ctx, told(shop, "operator", v1alpha1.ReasonOperatorLeft)).Should(ConsistOf(notes...))
	}, SpecTimeout(4*time.Minute))

	It("installs nothing in a namespace without an OperatorGroup: the reason is NoOperatorGroup until one exists", needsOLM, func(ctx SpecContext) {
		shop := newShop(ctx)
		operator := author(ctx, build.Federated("operator").In(shop).To("member-1").With(subscription(demooperator.Name, "Automatic")))
		Eventually(ctx, reread(ctx, operator)).Should(And(
			haveLine("member-1", v1alpha1.StateDegraded, v1alpha1.ReasonNoOperatorGroup, "Subscription demo", "federate one with the Subscription"),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNoOperatorGroup)))
		edit(ctx, operator, func(w *v1alpha1.Federated) { w.Spec.Objects = append(w.Spec.Objects, build.Raw(operatorGroup(shop))) })
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(beReady())
	}, SpecTimeout(4*time.Minute))

	It("cannot resolve a Subscription: the status has OLM's message", needsOLM, func(ctx SpecContext) {
		shop := newShop(ctx)
		operator := author(ctx, build.Federated("operator").In(shop).To("member-1").
			With(operatorGroup(shop), subscription("no-such-package", "Automatic")))
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(
			haveLine("member-1", v1alpha1.StateDegraded, "ResolutionFailed", "ConstraintsNotSatisfiable", "no operators found in package no-such-package"))
	}, SpecTimeout(4*time.Minute))

	It("waits for a person if approval is Manual, and goes on when the plan is approved", needsOLM, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		operator := author(ctx, build.Federated("operator").In(shop).To("member-1").
			With(operatorGroup(shop), subscription(demooperator.Name, "Manual")))
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(
			haveLine("member-1", v1alpha1.StateWaiting, v1alpha1.ReasonApprovalRequired, "InstallPlan ", "waits for approval"))

		approvePlanOf(ctx, member, shop, "demo")
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(beReady())

		By("says so when the CSV is deleted, which OLM does not install again")
		csv := lineOf(operator, member.Name).Version
		Expect(member.Delete(ctx, member.fetch(ctx, csvKind, shop, csv))).To(Succeed())
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(
			haveLine(member.Name, v1alpha1.StateDegraded, v1alpha1.ReasonCSVMissing, csv+" as installed, but that CSV is gone"))
	}, SpecTimeout(4*time.Minute))

	It("gets catalogs from wrappers, and an unreachable catalog is not Healthy", needsOLM, func(ctx SpecContext) {
		shop := newShop(ctx)
		catalog := author(ctx, build.Federated("catalog").In(shop).To("member-1").With(build.Manifest(`
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: gone}
spec: {sourceType: grpc, address: "127.0.0.1:1", displayName: Nobody answers}
`)))
		Eventually(ctx, reread(ctx, catalog)).WithTimeout(olmPatience).Should(
			haveLine("member-1", v1alpha1.StateDegraded, "TRANSIENT_FAILURE", "CatalogSource gone", "127.0.0.1:1"))

		By("which a Subscription of another wrapper says, too")
		operator := author(ctx, build.Federated("operator").In(shop).To("member-1").With(operatorGroup(shop), build.Manifest(`
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: demo}
spec: {name: %s, channel: stable, source: gone, sourceNamespace: %s}
`, demooperator.Name, shop)))
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(
			haveLine("member-1", v1alpha1.StateDegraded, "CatalogSourcesUnhealthy", "Subscription demo"))
	}, SpecTimeout(4*time.Minute))

	It("upgrades by itself when a version is published: Ready turns False, the version in the status changes, Ready turns True", needsProcesses, needsOLM, func(ctx SpecContext) {
		shop := newShop(ctx)
		operator := author(ctx, build.Federated("operator").In(shop).To("member-3").
			With(operatorGroup(shop), subscription(demooperator.Name, "Automatic")))
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(beReady())
		old, generation := lineOf(operator, "member-3").Version, operator.Generation

		// The quota keeps the new version's pod from being created, so that the upgrade lasts until the status has shown it.
		member := fleet.Member("member-3")
		quota := build.Manifest(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: one-pod, namespace: %s}, spec: {hard: {pods: "1"}}}`, shop)
		member.create(ctx, quota)
		Eventually(ctx, member.field("ResourceQuota", shop, "one-pod", "status", "used")).ShouldNot(BeNil())
		next := publishNext(ctx, "member-3")
		Expect(next).NotTo(Equal(old))
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).ShouldNot(beReady())
		Expect(member.Delete(ctx, quota)).To(Succeed())
		Eventually(ctx, reread(ctx, operator)).WithTimeout(olmPatience).Should(And(beReady(),
			WithTransform(func(w *v1alpha1.Federated) string { return lineOf(w, "member-3").Version }, Equal(next))))
		Expect(member.csvPhase(ctx, shop, next)).To(Equal("Succeeded"))
		Expect(operator.Generation).To(Equal(generation), "an upgrade by OLM must not edit the wrapper")
	}, SpecTimeout(6*time.Minute))
})
