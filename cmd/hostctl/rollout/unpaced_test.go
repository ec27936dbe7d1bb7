// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// unpaced returns web without a rollout. Its Subscription db takes the latest version, which member north does not report yet. change is applied
// last.
func unpaced(change func(*v1alpha1.Federated)) *v1alpha1.Federated {
	return web(func(w *v1alpha1.Federated) {
		w.Spec.Rollout, w.Status.Rollout = v1alpha1.Rollout{}, v1alpha1.RolloutStatus{}
		w.Status.Counts.Updated = new(int32(2))
		w.Status.Upgrade.Subscriptions = []v1alpha1.SubscriptionVersion{{Name: "db", CSV: "db.v1.0.0", Since: ago(time.Hour),
			Reason: v1alpha1.ReasonVersionsDiffer, Message: "db.v1.1.0 on east, db.v1.0.0 on north"}}
		for i := range w.Status.Clusters {
			w.Status.Clusters[i].Reason = ""
		}
		w.Status.Clusters[2].Revision, w.Status.Clusters[1].State = "fed-web-4", v1alpha1.StatePushing
		readyIs(w, metav1.ConditionFalse, v1alpha1.ReasonPushing, "2 of 3 clusters hold the update revision")
		change(w)
	})
}

func readyIs(w *v1alpha1.Federated, status metav1.ConditionStatus, reason, message string) {
	w.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(5 * time.Minute)}}
}

func ready(w *v1alpha1.Federated) {
	w.Status.Counts.Updated = new(int32(3))
	readyIs(w, metav1.ConditionTrue, v1alpha1.ReasonAllHealthy, "3 of 3 clusters are healthy")
}

func stalled(w *v1alpha1.Federated) {
	w.Status.Conditions = append(w.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "Invalid"})
}

func TestStatusShowsAWrapperWithoutARollout(t *testing.T) {
	for file, args := range map[string][]string{
		"status-unpaced.txt":  {"web", "-n", "shop"},
		"status-unpaced.json": {"web", "-n", "shop", "-o", "json"},
	} {
		t.Run(file, func(t *testing.T) {
			got := statusOf(t, hostWith(t, unpaced(asIs)), false, nil, args...)
			if got.err != nil {
				t.Errorf("the change goes on by itself, and the command returns %v", got.err)
			}
			golden.Equal(t, file, got.stdout)
		})
	}
}

func TestStatusWithoutARolloutSaysWhetherAPersonHasToAct(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.Federated)
		code   int
		says   string
	}{
		"ready":                                 {ready, exit.Done, "Ready is True since 5m: 3 of 3 clusters are healthy\n"},
		"stalled":                               {stalled, exit.Waits, "Ready is False since 5m"},
		"held":                                  {func(w *v1alpha1.Federated) { w.Status.Counts.Held = new(int32(1)) }, exit.Waits, "(Pushing)"},
		"an InstallPlan that a person approves": {func(w *v1alpha1.Federated) { w.Status.Clusters[1].Reason = v1alpha1.ReasonApprovalRequired }, exit.Waits, "ApprovalRequired"},
		"a version that waits while suspended": {func(w *v1alpha1.Federated) {
			ready(w)
			w.Status.Upgrade.Subscriptions[0].Reason = v1alpha1.ReasonSuspended
		},
			exit.Waits, "(Suspended)"},
		"a status of an earlier spec":    {func(w *v1alpha1.Federated) { w.Generation++ }, exit.Done, "Federated shop/web: the host's manager has not acted on the present spec yet\n"},
		"a status without any condition": {func(w *v1alpha1.Federated) { w.Status.Conditions = nil }, exit.Done, "has not acted on the present spec yet"},
	} {
		t.Run(name, func(t *testing.T) {
			got := statusOf(t, hostWith(t, unpaced(test.change)), false, nil, "web", "-n", "shop")
			if got.code() != test.code || !strings.Contains(got.stdout, test.says) {
				t.Errorf("code %d (%v), want %d and %q in:\n%s", got.code(), got.err, test.code, test.says, got.stdout)
			}
		})
	}
}

func TestStatusWatchesAWrapperWithoutARolloutUntilItIsReadyOrStalled(t *testing.T) {
	for file, test := range map[string]struct {
		change func(*v1alpha1.Federated)
		code   int
	}{
		"watch-unpaced.txt":         {func(w *v1alpha1.Federated) { ready(w); w.Status.Clusters[1].State = v1alpha1.StateHealthy }, exit.Done},
		"watch-unpaced-stalled.txt": {stalled, exit.Waits},
	} {
		t.Run(file, func(t *testing.T) {
			got := statusOf(t, hostWith(t, unpaced(asIs)), false, []func(*v1alpha1.Federated){test.change, asIs}, "web", "-n", "shop", "-w")
			if got.code() != test.code || got.err != nil && !exit.Silent(got.err) {
				t.Errorf("returned %v", got.err)
			}
			golden.Equal(t, file, got.stdout)
		})
	}
}
