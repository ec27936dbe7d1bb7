// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestTheLineShowsTheCauseAndNotItsConsequence(t *testing.T) {
	claim := func(h v1alpha1.Health, reason string) v1alpha1.ObjectStatus {
		return v1alpha1.ObjectStatus{Kind: "PersistentVolumeClaim", Name: "data", Health: h, Reason: reason}
	}
	web := func(h v1alpha1.Health, reason string) v1alpha1.ObjectStatus {
		return v1alpha1.ObjectStatus{Group: "apps", Kind: "Deployment", Name: "web", Health: h, Reason: reason}
	}
	ahead := v1alpha1.ObjectStatus{Group: "operators.coreos.com", Kind: "Subscription", Name: "operator", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget}
	for name, test := range map[string]struct {
		objects []v1alpha1.ObjectStatus
		want    string
	}{
		"a missing class before the pod that waits for the volume": {
			[]v1alpha1.ObjectStatus{claim(v1alpha1.Degraded, v1alpha1.ReasonClassNotFound), web(v1alpha1.Degraded, "Unschedulable")}, "data",
		},
		"a missing class before a workload that exceeds its deadline": {
			[]v1alpha1.ObjectStatus{web(v1alpha1.Degraded, "ProgressDeadlineExceeded"), claim(v1alpha1.Degraded, v1alpha1.ReasonClassNotFound)}, "data",
		},
		"a crash before a rollout that has not updated its replicas": {
			[]v1alpha1.ObjectStatus{claim(v1alpha1.Degraded, "LessUpdated"), web(v1alpha1.Degraded, "CrashLoopBackOff")}, "web",
		},
		"a crash before an operator that is ahead of its target": {
			[]v1alpha1.ObjectStatus{ahead, web(v1alpha1.Degraded, "CrashLoopBackOff")}, "web",
		},
		"an operator that is ahead of its target before a workload with too few pods": {
			[]v1alpha1.ObjectStatus{web(v1alpha1.Degraded, "LessReplicas"), ahead}, "operator",
		},
		"a crash before a claim that waits": {
			[]v1alpha1.ObjectStatus{claim(v1alpha1.Waiting, v1alpha1.ReasonClaimPending), web(v1alpha1.Degraded, "CrashLoopBackOff")}, "web",
		},
		"a claim that waits for its first consumer before a workload that starts": {
			[]v1alpha1.ObjectStatus{web(v1alpha1.Progressing, "LessAvailable"), claim(v1alpha1.Waiting, v1alpha1.ReasonWaitForFirstConsumer)}, "data",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the order of the objects does not matter
				if got := worstObject(&v1alpha1.DeliveryStatus{Objects: test.objects}); got.Name != test.want {
					t.Errorf("%s %s", got.Name, got.Reason)
				}
				slices.Reverse(test.objects)
			}
		})
	}
}
