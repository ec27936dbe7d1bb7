// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// A label selects the override, so another label is another rendering of the same revision. That is a change like an edit: it begins a
// rollout of its own, and the member waits for its wave.
func TestARelabelledMemberBeginsARollout(t *testing.T) {
	r, c := inWaves(t)
	edit(t, c, func(w *v1alpha1.Federated) {
		w.Spec.Rollout.Waves = append(w.Spec.Rollout.Waves, build.Wave("last"))
		w.Spec.Overrides = []v1alpha1.Override{{Target: v1alpha1.OverrideTarget{Kind: "ConfigMap"},
			Clusters: &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"tier": "gold"}}}},
			Patch:    []v1alpha1.PatchOperation{build.Patch("add", "/data", map[string]string{"tier": "gold"})}}}
	})
	f := connect(t, r, c, "east", "west")
	w, had := f.reconciled()
	for range 10 {
		if w.Status.Rollout.State != v1alpha1.RolloutComplete {
			w, had = f.reconciled()
		}
	}
	first := w.Status.Rollout
	if first.State != v1alpha1.RolloutComplete || had["west"] == "" || had["west"] != had["east"] {
		t.Fatalf("the first rollout does not end: %+v, with %v", first, had)
	}
	edit(t, c, func(w *v1alpha1.Federated) { w.Spec.Rollout.Waves[1] = build.ManualWave("last") })

	f.relabel("west", "zone", "gold") // selects no override
	if w, has := f.reconciled(); w.Status.Rollout.ID != first.ID || w.Status.Rollout.State != v1alpha1.RolloutComplete || has["west"] != had["west"] {
		t.Errorf("a rollout begins, although no rendering changes: %+v after %+v", w.Status.Rollout, first)
	}

	f.relabel("west", "tier", "gold")
	w, has := f.reconciled()
	is := w.Status.Rollout
	if is.ID == first.ID || is.Revision != first.Revision || is.State != v1alpha1.RolloutProgressing || is.Wave != "last" || is.WaitingFor != v1alpha1.ReasonWaveNeedsApproval {
		t.Errorf("no rollout of the same revision begins and waits: %+v after %+v", is, first)
	}
	if has["east"] != had["east"] || has["west"] != "" && has["west"] != had["west"] {
		t.Errorf("before the approval the members get %v after %v", has, had)
	}

	a := approval("last", v1alpha1.ApprovalSpec{Wrapper: aboutWeb, Allow: v1alpha1.AllowWave, Rollout: is.ID, Revision: is.Revision, Wave: is.Wave})
	if err := c.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if w, has := f.reconciled(); has["west"] == "" || has["west"] == had["west"] || has["east"] != had["east"] || w.Status.Rollout.ID != is.ID {
		t.Errorf("after the approval the members get %v after %v, in %+v", has, had, w.Status.Rollout)
	}
}

// The members become Healthy at once, so without the suspension the rollout is Complete after some reconciles.
func TestNoWavePassesWhileAllIsSuspended(t *testing.T) {
	r, c := inWaves(t)
	f := connect(t, r, c, "east", "west")
	w, _ := f.reconciled()
	edit(t, c, func(w *v1alpha1.Federated) { w.Spec.Suspend = v1alpha1.SuspendAll })
	for range 10 {
		w, _ = f.reconciled()
	}
	if is := w.Status.Rollout; is.State != v1alpha1.RolloutProgressing || is.Wave != "canary" {
		t.Errorf("with suspend: All, the rollout is %+v", is)
	}
	edit(t, c, func(w *v1alpha1.Federated) { w.Spec.Suspend = v1alpha1.SuspendNone })
	for range 10 {
		w, _ = f.reconciled()
	}
	if is := w.Status.Rollout; is.State != v1alpha1.RolloutComplete {
		t.Errorf("afterwards the rollout is %+v", is)
	}
}
