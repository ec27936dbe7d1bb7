// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// waveLabel is the label by which the members of a spec belong to waves.
const waveLabel = "e2e-wave"

// moveTo labels a member, so that it belongs to this wave. The first call for a member removes the label after the spec.
func moveTo(ctx context.Context, member, wave string) {
	GinkgoHelper()
	mc := registered(member)
	isNew := false
	edit(ctx, mc, func(mc *v1alpha1.MemberCluster) {
		_, has := mc.Labels[waveLabel]
		isNew = !has
		metav1.SetMetaDataLabel(&mc.ObjectMeta, waveLabel, wave)
	})
	if isNew {
		DeferCleanup(func(ctx SpecContext) {
			edit(ctx, mc, func(mc *v1alpha1.MemberCluster) { delete(mc.Labels, waveLabel) })
		})
	}
}

// labelledWave returns a wave of the members that moveTo has labelled with its name.
func labelledWave(name string, approval v1alpha1.WaveApproval) v1alpha1.RolloutWave {
	wave := build.Wave(name)
	wave.Approval = approval
	wave.Clusters = &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{MatchLabels: map[string]string{waveLabel: name}}}}
	return wave
}

var _ = Describe("When members change in the middle of a rollout", func() {
	It("neither skips a member that moves into another wave nor updates it twice, and tells what it waits for", func(ctx SpecContext) {
		moveTo(ctx, "member-1", "first")
		moveTo(ctx, "member-2", "second")
		moveTo(ctx, "member-3", "third")
		w := delivered(ctx, v1alpha1.FailurePause, build.Wave("canary", "member-1"))
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{labelledWave("first", v1alpha1.WaveAutomatic), labelledWave("second", v1alpha1.WaveManual),
				labelledWave("third", v1alpha1.WaveManual)}
			w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", "green"))
		})
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutProgressing, "second", v1alpha1.ReasonWaveNeedsApproval))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "blue", "blue"}))
		id, written := w.Status.Rollout.ID, fleet.Member("member-1").version(ctx, "ConfigMap", w.Namespace, w.Name)

		By("leaving member-1, which is updated, alone when it moves into a later wave")
		moveTo(ctx, "member-1", "third")

		By("passing the second wave when its only member moves into the third, and waiting for the approval of that")
		moveTo(ctx, "member-2", "third")
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutProgressing, "third", v1alpha1.ReasonWaveNeedsApproval),
			haveLine("member-2", v1alpha1.StateHealthy, v1alpha1.ReasonWaveNeedsApproval, "--wave third"),
			haveLine("member-3", v1alpha1.StateHealthy, v1alpha1.ReasonWaveNeedsApproval, "--wave third"),
			HaveField("Status.Counts.Updated", HaveValue(BeEquivalentTo(1)))))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "blue", "blue"}))

		By("updating member-3 when it moves into a wave that has passed")
		moveTo(ctx, "member-3", "first")
		Eventually(ctx, colours(w)).Should(Equal([]any{"green", "blue", "green"}))
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutProgressing, "third", v1alpha1.ReasonWaveNeedsApproval),
			haveLine("member-2", v1alpha1.StateHealthy, v1alpha1.ReasonWaveNeedsApproval, "--wave third")))
		late := fleet.Member("member-3").version(ctx, "ConfigMap", w.Namespace, w.Name)

		By("updating member-2 when its wave is approved, and no other member again")
		approve(ctx, w.Name, "-n", w.Namespace, "--wave", "third")
		Eventually(ctx, reread(ctx, w)).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "green", "green"}))
		Expect(w.Status.Rollout.ID).To(Equal(id), "no other rollout has begun")
		Expect(fleet.Member("member-1").version(ctx, "ConfigMap", w.Namespace, w.Name)).To(Equal(written), "member-1 was written again")
		Expect(fleet.Member("member-3").version(ctx, "ConfigMap", w.Namespace, w.Name)).To(Equal(late), "member-3 was written again")
	})

	It("counts a member in an outage for maxUnavailable, and updates the others only as far as that allows", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("wave").In(shop).ToMatching().With(build.ConfigMap("wave", "colour", "blue")))
		expectReady(ctx, w)
		colour := func(member string) func(context.Context) any {
			return fleet.Member(member).field("ConfigMap", shop, "wave", "data", "colour")
		}
		fleet.Outage(ctx, "member-3")
		Eventually(ctx, reread(ctx, w)).Should(haveLine("member-3", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable))

		By("updating no member while the one in the outage uses up maxUnavailable")
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(1))
			w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", "green"))
		})
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutProgressing, "rest", v1alpha1.ReasonMaxUnavailableReached),
			haveLine("member-1", v1alpha1.StateHealthy, v1alpha1.ReasonMaxUnavailableReached, "spec.rollout.maxUnavailable"),
			haveLine("member-2", v1alpha1.StateHealthy, v1alpha1.ReasonMaxUnavailableReached, "spec.rollout.maxUnavailable")))
		Expect([]any{colour("member-1")(ctx), colour("member-2")(ctx)}).To(Equal([]any{"blue", "blue"}))

		By("updating both when maxUnavailable allows one more, and waiting for the member in the outage")
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(2)) })
		Eventually(ctx, reread(ctx, w)).Should(And(haveRollout(v1alpha1.RolloutProgressing, "rest", v1alpha1.ReasonUnreachable),
			HaveField("Status.Rollout.WaitingForCluster", "member-3"), HaveField("Status.Counts.Updated", HaveValue(BeEquivalentTo(2)))))
		Expect([]any{colour("member-1")(ctx), colour("member-2")(ctx)}).To(Equal([]any{"green", "green"}))

		By("updating the member when it is back")
		Expect(fleet.Start(ctx, "member-3")).To(Succeed())
		Eventually(ctx, reread(ctx, w)).WithTimeout(afterKill).Should(And(beReady(), haveRollout(v1alpha1.RolloutComplete, "", "")))
		Expect(colour("member-3")(ctx)).To(Equal("green"))
	})
})
