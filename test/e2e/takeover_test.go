// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// newRival starts a second sandbox that has only a host, with a manager of its own.
func newRival(ctx SpecContext) *TestFleet {
	GinkgoHelper()
	name := fleet.Sandbox.Name + "-rival"
	down := func(ctx SpecContext) {
		_, err := sandbox.Down(ctx, name)
		Expect(err).NotTo(HaveOccurred())
	}
	down(ctx) // a killed run may have left a sandbox with this name
	DeferCleanup(down, NodeTimeout(time.Minute))
	box, err := sandbox.Up(ctx, sandbox.Options{Name: name, MoreMemory: true, Programs: filepath.Join(fleet.repo, "bin")}, progress.New(GinkgoWriter))
	Expect(err).NotTo(HaveOccurred())
	r := &TestFleet{Provider: provider.OfSandbox{Sandbox: box}, Name: name, Sandbox: box, repo: fleet.repo}
	r.Host = r.connect(sandbox.HostName)
	return r
}

var _ = Describe("When another host takes a member over", func() {
	It("only the new host can write, and the first host reports that it lost the member and forgets it", needsProcesses, needsOpenMembers, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-3")
		w := author(ctx, build.Federated("settings").In(shop).To(member.Name).With(build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, w)
		uid, version := member.uid("settings", shop)(ctx), member.version(ctx, "ConfigMap", shop, "settings")
		DeferCleanup(func(ctx SpecContext) {
			Expect(fleet.Hostctl(ctx, joining(member.Name, "--take-over", "--yes")...)).To(HaveField("Code", exit.Done))
			Expect(syscall.Kill(fleet.Process(ctx, member.Name, sandbox.CollectorProcess).PID, syscall.SIGTERM)).To(Succeed())
			Expect(fleet.Hostctl(ctx, asAtFirst(joining(member.Name))...)).To(HaveField("Code", exit.Done))
			Expect(fleet.Sandbox.WaitReady(ctx, member.Name, sandbox.CollectorProcess)).To(Succeed())
		})
		other := newRival(ctx)
		theirJoin := []string{"join", "lost", "--cluster-kubeconfig", member.Kubeconfig, "--allow", "any", "--namespaces", "All"}

		By("refusing the join, and naming its effects with --take-over")
		refused := other.Hostctl(ctx, theirJoin...)
		Expect(refused.Code).To(Equal(exit.Failed))
		Expect(refused.Stderr).To(And(ContainSubstring("a member of another host"), ContainSubstring("--take-over")))
		Expect(other.Hostctl(ctx, append(theirJoin, "--take-over")...).Code).To(Equal(exit.Usage), "without a terminal no person can confirm the take-over")
		took := other.Hostctl(ctx, append(theirJoin, "--take-over", "--yes")...)
		Expect(took.Code).To(Equal(exit.Done), took.Stderr)
		Expect(took.Stderr).To(And(ContainSubstring(`which knows it as "member-3"`), ContainSubstring("Deliver")))

		By("refusing the first host's credentials")
		Eventually(ctx, reread(ctx, registered(member.Name))).Should(
			haveCondition(v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonUnauthorized))
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "colour", "green"))
		})
		Consistently(ctx, member.field("ConfigMap", shop, "settings", "data", "colour")).Should(Equal("blue"))
		Expect(member.version(ctx, "ConfigMap", shop, "settings")).To(Equal(version))
		again := fleet.Hostctl(ctx, joining(member.Name)...)
		Expect(again.Code).To(Equal(exit.Failed))
		Expect(again.Stderr).To(And(ContainSubstring("a member of another host"), ContainSubstring(`which knows it as "lost"`)))

		By("creating the wrapper at the other host, where it is held until a person decides")
		Expect(other.Host.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}})).To(Succeed())
		theirs := build.Federated("settings").In(shop).To("lost").With(build.ConfigMap("settings", "colour", "red")).Obj()
		Expect(other.Host.Create(ctx, theirs)).To(Succeed())
		at := func(g Gomega) *v1alpha1.Federated {
			g.Expect(other.Host.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
			return theirs
		}
		Eventually(ctx, at).Should(haveLine("lost", v1alpha1.StateHeld, v1alpha1.ReasonWrapperReplaced, "hostctl recover settings -n "+shop))
		Expect(member.version(ctx, "ConfigMap", shop, "settings")).To(Equal(version))
		Expect(other.Hostctl(ctx, "recover", "settings", "-n", shop, "--keep", "host", "--yes").Code).To(Equal(exit.Done))
		Eventually(ctx, at).Should(beReady())
		Expect(member.field("ConfigMap", shop, "settings", "data", "colour")(ctx)).To(Equal("red"))
		Expect(member.uid("settings", shop)(ctx)).To(Equal(uid), "the object must keep its uid")

		By("unjoining at the first host, which removes nothing from the member")
		Expect(fleet.Hostctl(ctx, "unjoin", member.Name, "--forget", "--yes").Code).To(Equal(exit.Done))
		remove(ctx, w)
		Consistently(ctx, at).Should(beReady())
		Expect(member.field("ConfigMap", shop, "settings", "data", "colour")(ctx)).To(Equal("red"))
		Expect(other.Host.Delete(ctx, theirs)).To(Succeed())
		Eventually(ctx, member.has("ConfigMap", shop, "settings")).Should(BeFalse())
		Expect(other.Hostctl(ctx, "unjoin", "lost", "--yes").Code).To(Equal(exit.Done))
	}, SpecTimeout(5*time.Minute))
})
