// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// onCall runs `hostctl rollout` with these arguments for a wrapper, and expects this exit code. It returns what the command prints.
func onCall(ctx context.Context, w *v1alpha1.Federated, code int, command string, args ...string) string {
	GinkgoHelper()
	run := fleet.Hostctl(ctx, append([]string{"rollout", command, w.Name, "-n", w.Namespace}, args...)...)
	Expect(run.Code).To(Equal(code), run.Stdout+run.Stderr)
	return run.Stdout
}

// watchRollout begins `hostctl rollout status -w` for a wrapper. The channel gets the result when the command ends.
func watchRollout(ctx context.Context, w *v1alpha1.Federated) <-chan Run {
	ended := make(chan Run, 1)
	go func() {
		defer GinkgoRecover()
		ended <- fleet.Hostctl(ctx, "rollout", "status", w.Name, "-n", w.Namespace, "-w")
	}()
	return ended
}

var _ = Describe("hostctl rollout", func() {
	It("previews a change, holds it, resumes it, goes on without a member that fails, and shows all of it", func(ctx SpecContext) {
		w := delivered(ctx, v1alpha1.FailurePause, build.Wave("canary", "member-1"))

		By("previewing the change of a file, and writing nothing")
		file := inFile("wave.yaml", fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: %s, namespace: %s}
spec:
  placement: {clusters: {selectors: [{}]}}
  objects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: wave}, data: {colour: green}}
  rollout:
    waves:
    - {name: canary, clusters: {names: [member-1]}}
    - {name: second, clusters: {names: [member-2]}}
    - {name: last, approval: Manual}
`, w.Name, w.Namespace))
		preview := fleet.Hostctl(ctx, "rollout", "preview", "-f", file)
		Expect(preview.Code).To(Equal(exit.Done), preview.Stderr)
		Expect(preview.Stdout).To(And(ContainSubstring("wave canary: 1 cluster"), ContainSubstring("wave second: 1 cluster"),
			ContainSubstring("begins after `hostctl approve wave -n "+w.Namespace+" --wave last`"), ContainSubstring("member-3: changes from"),
			ContainSubstring("-  colour: blue"), ContainSubstring("+  colour: green")))
		generation := w.Generation
		Expect(reread(ctx, w)(Default).Generation).To(Equal(generation))

		By("holding a change that member-2 refuses")
		Expect(onCall(ctx, w, exit.Done, "suspend")).To(ContainSubstring("spec.suspend is Rollout"))
		bad := build.Override("ConfigMap", "wave")
		bad.Clusters = &v1alpha1.ClusterSelection{Names: []string{"member-2"}}
		bad.Patch = []v1alpha1.PatchOperation{build.Patch("add", "/data/-bad key", "x")}
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.Waves, w.Spec.Overrides = manualLast(), []v1alpha1.Override{bad}
			w.Spec.Objects[0] = build.Raw(build.ConfigMap(w.Name, "colour", "green"))
		})
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutProgressing, "canary", v1alpha1.ReasonSuspended))
		Expect(colours(w)(ctx)).To(Equal([]any{"blue", "blue", "blue"}))
		Expect(onCall(ctx, w, exit.Waits, "status")).To(ContainSubstring("`hostctl rollout resume wave -n " + w.Namespace + "` lets the rollout go on (Suspended)"))

		By("resuming it: it stops at member-2, and the status has the member's message")
		Expect(onCall(ctx, w, exit.Done, "resume")).To(ContainSubstring("spec.suspend is None"))
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutPaused, "second", v1alpha1.ReasonRolloutStopped))
		message := w.Status.Rollout.Failure.Message
		Expect(message).To(ContainSubstring("ConfigMap"))
		Expect(onCall(ctx, w, exit.Waits, "status")).To(And(ContainSubstring("failed in wave second on cluster member-2"),
			ContainSubstring("; when the rollout failed, the message of cluster member-2 was \""+message+"\"")))
		Eventually(ctx, told(w.Namespace, w.Name, v1alpha1.ReasonRolloutPaused)).Should(ContainElement(ContainSubstring(message)))

		By("going on without member-2, up to the wave that needs an approval")
		onCall(ctx, w, exit.Done, "skip", "member-2", "--yes")
		onCall(ctx, w, exit.Done, "retry", "--yes")
		Eventually(ctx, reread(ctx, w)).Should(haveRollout(v1alpha1.RolloutProgressing, "last", v1alpha1.ReasonWaveNeedsApproval))
		Expect(onCall(ctx, w, exit.Done, "preview")).To(And(ContainSubstring("wave canary: 1 cluster; has passed"),
			ContainSubstring("begins after `hostctl approve wave -n "+w.Namespace+" --wave last`"), ContainSubstring("member-3: changes from")))
		Expect(onCall(ctx, w, exit.Waits, "status")).To(ContainSubstring("--wave last` lets wave last begin (WaveNeedsApproval)"))

		By("watching until the last wave has passed")
		watched := watchRollout(ctx, w)
		approve(ctx, w.Name, "-n", w.Namespace, "--wave", "last")
		var run Run
		Eventually(ctx, watched).Should(Receive(&run))
		Expect(run.Code).To(Equal(exit.Done), run.Stderr)
		Expect(run.Stdout).To(And(ContainSubstring("cluster member-3 (wave last): "), ContainSubstring("cluster member-2 (wave second): Stalled"),
			MatchRegexp(`the rollout of fed-wave-\S+ is Complete[^\n]*\n$`)))
		Expect(colours(w)(ctx)).To(Equal([]any{"green", "blue", "green"}))
	})
})
