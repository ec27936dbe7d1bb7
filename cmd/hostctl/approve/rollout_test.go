// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// rolling returns a function that gives a wrapper a rollout, which waits for the approval of its second wave. Then the function calls
// change.
func rolling(change func(*v1alpha1.Federated)) func(*v1alpha1.Federated) {
	return func(w *v1alpha1.Federated) {
		manual := build.ManualWave("last")
		w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary", "east"), manual}
		w.Status.ObservedGeneration = w.Generation
		w.Status.Rollout = v1alpha1.RolloutStatus{ID: "a1", Revision: "fed-web-2", State: v1alpha1.RolloutProgressing, Wave: "last"}
		change(w)
	}
}

func failed(w *v1alpha1.Federated) {
	w.Status.Rollout.State = v1alpha1.RolloutPaused
	w.Status.Rollout.Failure = v1alpha1.RolloutFailure{Revision: "fed-web-2", Wave: "canary", Cluster: "east", Count: 1}
}

func TestWhichStepOfARolloutIsApproved(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		change func(*v1alpha1.Federated)
		want   v1alpha1.ApprovalSpec
		says   string
	}{
		"the wave that waits": {[]string{"--wave", "last"}, func(*v1alpha1.Federated) {},
			v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowWave, Wave: "last"}, "wave last of fed-web-2 may begin.\n"},
		"a wave that comes later": {[]string{"--wave", "last"}, func(w *v1alpha1.Federated) { w.Status.Rollout.Wave = "canary" },
			v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowWave, Wave: "last"}, "may begin, after wave canary"},
		"a member to go on without": {[]string{"--skip", "south,east"}, func(*v1alpha1.Federated) {},
			v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowSkip, Clusters: []string{"east", "south"}}, "waits for east, south any more"},
		"another try": {[]string{"--retry"}, failed, v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowRetry}, "goes out again from its first wave"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "y\n", append([]string{"web", "-n", "shop"}, test.args...), web(rolling(test.change)))
			if got.err != nil || len(got.written) != 1 {
				t.Fatalf("%v; written: %v", got.err, got.written)
			}
			test.want.Wrapper = v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"}
			test.want.Rollout, test.want.Revision = "a1", "fed-web-2"
			if diff := cmp.Diff(test.want, got.written[0].Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if !strings.Contains(got.stderr, test.says) {
				t.Errorf("want %q in:\n%s", test.says, got.stderr)
			}
		})
	}
}

func TestApproveRefusesStepsThatTheRolloutDoesNotWaitFor(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		change func(*v1alpha1.Federated)
		words  string
	}{
		"no rollout": {[]string{"--retry"}, func(w *v1alpha1.Federated) { w.Status.Rollout = v1alpha1.RolloutStatus{} }, "the wrapper has no rollout"},
		"a status of an earlier spec": {[]string{"--retry"}, func(w *v1alpha1.Federated) { w.Status.ObservedGeneration-- },
			"has not acted on the wrapper's present spec yet"},
		"a wrapper that is being deleted": {[]string{"--wave", "last"}, deleted, "the wrapper is being deleted"},
		"a wave that needs no approval":   {[]string{"--wave", "canary"}, func(*v1alpha1.Federated) {}, "wave canary needs no approval"},
		"a wave that is not there":        {[]string{"--wave", "lost"}, func(*v1alpha1.Federated) {}, "the rollout has no wave lost; the waves that need an approval: last"},
		"a wave that has begun":           {[]string{"--wave", "last"}, func(w *v1alpha1.Federated) { w.Status.Rollout.Begun = v1alpha1.Yes }, "has already begun"},
		"a wave that has passed": {[]string{"--wave", "last"}, func(w *v1alpha1.Federated) {
			w.Spec.Rollout.Waves, w.Status.Rollout.Wave = append(w.Spec.Rollout.Waves, build.Wave("end", "south")), "end"
		}, "wave last has passed already: the current wave is end"},
		"a wave of a rollout that stopped":  {[]string{"--wave", "last"}, failed, "is Paused, so no wave begins"},
		"a retry of what has not failed":    {[]string{"--retry"}, func(*v1alpha1.Federated) {}, "no revision has failed"},
		"a member that has not the wrapper": {[]string{"--skip", "west"}, func(*v1alpha1.Federated) {}, "cluster west is not among the clusters that the wrapper is placed on"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "y\n", append([]string{"web", "-n", "shop"}, test.args...), web(rolling(test.change)))
			if got.err == nil || exit.CodeOf(got.err) != exit.Failed || !strings.Contains(got.err.Error(), test.words) || len(got.written) > 0 {
				t.Errorf("got %v, want %q; written: %v", got.err, test.words, got.written)
			}
		})
	}
}
