// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

const clusterExtension = "ClusterExtension.v1.olm.operatorframework.io"

// settled bounds the time until a ClusterExtension is Healthy. The collector waits until the status of the ClusterExtension
// has not changed for ten seconds.
const settled = 90 * time.Second

// serveClusterExtensions installs a CRD of ClusterExtension with few fields on a member. OLM v1 is not installed there: the specs
// write the status themselves.
func (c *TestCluster) serveClusterExtensions(ctx context.Context) {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(fleet.repo, "test", "e2e", "testdata", "clusterextensions.yaml"))
	Expect(err).NotTo(HaveOccurred())
	c.create(ctx, build.Manifest("%s", data))
}

// pinned returns a ClusterExtension with this value of spec.source.catalog.version.
func pinned(name, version string) *unstructured.Unstructured {
	return build.Manifest(`{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: %s},
  spec: {namespace: default, source: {sourceType: Catalog, catalog: {packageName: argo, version: %q}}}}`, name, version)
}

// progressing returns a condition Progressing, as operator-controller (the controller of OLM v1) writes it.
func progressing(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Progressing", Status: status, Reason: reason, Message: message}
}

// reached is the condition Progressing after operator-controller has installed the wanted bundle.
var reached = progressing(metav1.ConditionTrue, "Succeeded", "Desired state reached")

// installs writes the status of a ClusterExtension as operator-controller does: the installed version ("" for none), the condition
// Installed, and the other conditions. All conditions observe the present generation, and keep their transition time
// if their status stays.
func (c *TestCluster) installs(ctx context.Context, name, version string, others ...metav1.Condition) {
	GinkgoHelper()
	obj := c.fetch(ctx, clusterExtension, "", name)
	Expect(obj).NotTo(BeNil(), "ClusterExtension %s is not on %s", name, c.Name)
	status := struct {
		Conditions []metav1.Condition `json:"conditions"`
		Install    map[string]any     `json:"install,omitempty"`
	}{}
	if before, found, _ := unstructured.NestedMap(obj.Object, "status"); found {
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(before, &status)).To(Succeed())
	}
	about := metav1.Condition{Type: "Installed", Status: metav1.ConditionFalse, Reason: "Failed", Message: "No bundle installed"}
	status.Install = nil
	if version != "" {
		status.Install = map[string]any{"bundle": map[string]any{"name": "argo.v" + version, "version": version}}
		about.Status, about.Reason, about.Message = metav1.ConditionTrue, "Succeeded", "Installed bundle successfully"
	}
	for _, condition := range append(others, about) {
		condition.ObservedGeneration = obj.GetGeneration()
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	Expect(err).NotTo(HaveOccurred())
	obj.Object["status"] = written
	Expect(c.Status().Update(ctx, obj, client.FieldOwner("operator-controller"))).To(Succeed())
}

// wants returns a function for Eventually: the version that the ClusterExtension on this member asks for, nil without one.
func (c *TestCluster) wants(name string) func(context.Context) any {
	return c.field(clusterExtension, "", name, "spec", "source", "catalog", "version")
}

// repin changes the version that the wrapper's ClusterExtension asks for.
func repin(ctx context.Context, w *v1alpha1.ClusterFederated, version string) {
	GinkgoHelper()
	edit(ctx, w, func(w *v1alpha1.ClusterFederated) { w.Spec.Objects[0] = build.Raw(pinned(w.Name, version)) })
}

// installEverywhere plays operator-controller on each of these members in turn: when the member's wave has brought the version
// there, it reports the version as installed. Then it waits until the rollout is complete.
func installEverywhere(ctx context.Context, w *v1alpha1.ClusterFederated, version string, members ...string) {
	GinkgoHelper()
	for _, name := range members {
		Eventually(ctx, fleet.Member(name).wants(w.Name)).WithTimeout(settled).Should(Equal(version))
		fleet.Member(name).installs(ctx, w.Name, version, reached)
	}
	Eventually(ctx, reread(ctx, w)).WithTimeout(settled).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
}

// showVersion matches a wrapper whose line for the member has this state and version.
func showVersion(member string, state v1alpha1.ClusterState, version string) types.GomegaMatcher {
	return WithTransform(func(w *v1alpha1.ClusterFederated) string {
		l := lineOf(w, member)
		return fmt.Sprintf("%s %s", l.State, l.Version)
	}, Equal(fmt.Sprintf("%s %s", state, version)))
}

// operator-controller itself does not run here, because it pulls catalogs and bundles from registries. The specs install a CRD with
// few fields, and write the conditions that operator-controller would write.
var _ = Describe("When OLM v1 upgrades operators, by a cut-down CRD and scripted conditions", Ordered, longFirst, ContinueOnFailure, needsOpenMembers, func() {
	const ofEarlier = "1.0.0 is installed; OLM has not installed a version that satisfies 1.1.0 yet"

	BeforeAll(func(ctx SpecContext) {
		for _, member := range fleet.Members() {
			member.serveClusterExtensions(ctx)
		}
	})

	It("takes a pin through three waves, and begins none before the version is installed in the one before", func(ctx SpecContext) {
		name := unique("argo")
		first, second, third := fleet.Member("member-1"), fleet.Member("member-2"), fleet.Member("member-3")
		w := author(ctx, build.ClusterFederated(name).ToMatching().With(pinned(name, "1.0.0")).
			InWaves("", build.Wave("canary", "member-1"), build.Wave("second", "member-2")))

		By("telling that no controller has set a status")
		Eventually(ctx, reread(ctx, w)).Should(haveLine("member-1", v1alpha1.StateProgressing, v1alpha1.ReasonStatusMissing, "operator-controller"))
		first.installs(ctx, name, "", progressing(metav1.ConditionTrue, "RollingOut", "2 of 3 phases"))
		Eventually(ctx, reread(ctx, w)).Should(haveLine("member-1", v1alpha1.StateProgressing, "RollingOut", "2 of 3 phases"))
		Expect(second.has(clusterExtension, "", name)(ctx)).To(BeFalse())
		installEverywhere(ctx, w, "1.0.0", "member-1", "member-2", "member-3")

		By("not passing the wave while OLM reports success with the earlier version")
		repin(ctx, w, "1.1.0")
		Eventually(ctx, first.wants(name)).Should(Equal("1.1.0"))
		first.installs(ctx, name, "1.0.0", reached)
		Eventually(ctx, reread(ctx, w)).Should(haveLine("member-1", v1alpha1.StateProgressing, v1alpha1.ReasonInstalling, ofEarlier))
		// A ClusterExtension whose status does not change for ten seconds is Healthy. The wave must not pass here all the same, because
		// the installed version is the earlier one.
		Consistently(ctx, second.wants(name)).WithTimeout(15 * time.Second).Should(Equal("1.0.0"))
		Expect(reread(ctx, w)(Default)).To(And(haveRollout(v1alpha1.RolloutProgressing, "canary", v1alpha1.ReasonWaveHeld),
			haveLine("member-1", v1alpha1.StateProgressing, v1alpha1.ReasonInstalling, ofEarlier),
			showVersion("member-2", v1alpha1.StateHealthy, "1.0.0")))

		By("going on when the pinned version is installed")
		first.installs(ctx, name, "1.1.0", reached)
		Eventually(ctx, second.wants(name)).WithTimeout(settled).Should(Equal("1.1.0"))
		Expect(third.wants(name)(ctx)).To(Equal("1.0.0"))
		Eventually(ctx, reread(ctx, w)).Should(showVersion("member-1", v1alpha1.StateHealthy, "1.1.0"))
		installEverywhere(ctx, w, "1.1.0", "member-2", "member-3")
		shown := fleet.Hostctl(ctx, "rollout", "status", "cfed/"+name).Stdout
		for _, member := range fleet.MemberNames() {
			Expect(w).To(showVersion(member, v1alpha1.StateHealthy, "1.1.0"))
			Expect(shown).To(MatchRegexp(member + ` .* 1\.1\.0 +Healthy`))
		}
	}, SpecTimeout(6*time.Minute))

	It("stops the rollout where OLM is blocked, tells its message, and installs what an override asks for", func(ctx SpecContext) {
		const blocked = "bundle argo.v1.0.0 does not support AllNamespaces"
		name := unique("argo")
		first, second := fleet.Member("member-1"), fleet.Member("member-2")
		own := build.Override("ClusterExtension", name)
		own.Clusters = &v1alpha1.ClusterSelection{Names: []string{"member-2"}}
		own.Patch = []v1alpha1.PatchOperation{build.Patch("replace", "/spec/source/catalog/version", ">=2.0.0, <3.0.0")}
		w := author(ctx, build.ClusterFederated(name).To("member-1", "member-2").With(pinned(name, "1.0.0")).Overriding(own).
			InWaves("", build.Wave("canary", "member-1")))
		Eventually(ctx, first.wants(name)).Should(Equal("1.0.0"))
		first.installs(ctx, name, "", progressing(metav1.ConditionFalse, "Blocked", blocked))
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped),
			haveLine("member-1", v1alpha1.StateStalled, v1alpha1.ReasonBlocked, "ClusterExtension "+name, blocked),
			haveCondition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonRolloutStopped),
			HaveField("Status.Rollout.Failure", And(HaveField("Cluster", "member-1"), HaveField("Reason", v1alpha1.ReasonBlocked)))))
		Expect(second.has(clusterExtension, "", name)(ctx)).To(BeFalse())

		By("going on with a version that OLM installs, a deprecated one")
		repin(ctx, w, "1.0.1")
		Eventually(ctx, first.wants(name)).Should(Equal("1.0.1"))
		first.installs(ctx, name, "1.0.1", reached, metav1.Condition{Type: "Deprecated", Status: metav1.ConditionTrue, Reason: "Deprecated", Message: "argo 1 ends in May"})
		Eventually(ctx, reread(ctx, w)).WithTimeout(settled).Should(haveLine("member-1", v1alpha1.StateHealthy, v1alpha1.ReasonDeprecated, "argo 1 ends in May"))
		Eventually(ctx, second.wants(name)).Should(Equal(">=2.0.0, <3.0.0"))
		second.installs(ctx, name, "2.3.4", reached)
		Eventually(ctx, reread(ctx, w)).WithTimeout(settled).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", ""),
			showVersion("member-1", v1alpha1.StateHealthy, "1.0.1"), showVersion("member-2", v1alpha1.StateHealthy, "2.3.4")))
	}, SpecTimeout(4*time.Minute))

	It("warns of a Rollback that OLM would refuse, and takes a SelfCertified one back", func(ctx SpecContext) {
		const refused = `error upgrading from currently installed version "1.1.0": no bundles found for package "argo" matching version "1.0.0"`
		name := unique("argo")
		first := fleet.Member("member-1")
		w := build.ClusterFederated(name).To("member-1", "member-2").With(pinned(name, "1.0.0")).
			InWaves(v1alpha1.FailureRollback, build.Wave("canary", "member-1")).Obj()
		warned := fleet.KubectlWith(ctx, string(build.JSON(w).Raw), "create", "--dry-run=server", "-f", "-")
		Expect(warned.Code).To(BeZero(), warned.Stderr)
		Expect(warned.Stderr).To(And(ContainSubstring("Warning: "), ContainSubstring("upgradeConstraintPolicy of ClusterExtension "+name+" is not SelfCertified")))

		certified := func(version string) {
			extension := pinned(name, version)
			Expect(unstructured.SetNestedField(extension.Object, "SelfCertified", "spec", "source", "catalog", "upgradeConstraintPolicy")).To(Succeed())
			w.Spec.Objects[0] = build.Raw(extension)
		}
		certified("1.0.0")
		fleet.Host.create(ctx, w)
		installEverywhere(ctx, w, "1.0.0", "member-1", "member-2")
		edit(ctx, w, func(*v1alpha1.ClusterFederated) { certified("1.1.0") })
		Eventually(ctx, first.wants(name)).Should(Equal("1.1.0"))
		first.installs(ctx, name, "1.1.0", progressing(metav1.ConditionFalse, "Blocked", "the new operator does not start"))
		Eventually(ctx, first.wants(name)).Should(Equal("1.0.0"))

		By("being Degraded while OLM refuses the downgrade")
		first.installs(ctx, name, "1.1.0", progressing(metav1.ConditionTrue, "Retrying", refused))
		Eventually(ctx, reread(ctx, w)).Should(And(haveLine("member-1", v1alpha1.StateDegraded, "Retrying", refused),
			showVersion("member-1", v1alpha1.StateDegraded, "1.1.0")))
		first.installs(ctx, name, "1.0.0", reached)
		Eventually(ctx, reread(ctx, w)).WithTimeout(settled).Should(And(haveRollout(v1alpha1.RolloutRolledBack, "", v1alpha1.ReasonRolloutStopped),
			showVersion("member-1", v1alpha1.StateHealthy, "1.0.0"), showVersion("member-2", v1alpha1.StateHealthy, "1.0.0")))
	}, SpecTimeout(5*time.Minute))
})
