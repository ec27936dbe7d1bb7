// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

func TestAWorkloadIsHealthyOnlySomeTimeAfterACrash(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}`
	inPhase := func(phase string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: ` + phase + `}}`
	}
	line := func(is v1alpha1.Health, reason string) *v1alpha1.ObjectStatus {
		return &v1alpha1.ObjectStatus{Health: is, Reason: reason, Message: "it crashed"}
	}
	crashed := line(v1alpha1.Degraded, "CrashLoopBackOff")
	isHealthy := health.Verdict{Health: v1alpha1.Healthy, Version: "v1"}
	held := func(is v1alpha1.Health, reason string, left time.Duration) health.Verdict {
		return health.Verdict{Health: is, Reason: reason, Message: "it crashed", Version: "v1", Recheck: left}
	}
	for name, test := range map[string]struct {
		object  string
		verdict health.Verdict
		line    *v1alpha1.ObjectStatus
		well    time.Duration
		want    health.Verdict
	}{
		"it runs again":                     {deployment, isHealthy, crashed, 0, held(v1alpha1.Degraded, "CrashLoopBackOff", 30*time.Second)},
		"it has run for a while":            {deployment, isHealthy, crashed, 20 * time.Second, held(v1alpha1.Degraded, "CrashLoopBackOff", 10*time.Second)},
		"it has run long enough":            {deployment, isHealthy, crashed, 30 * time.Second, isHealthy},
		"the clock has gone back":           {deployment, isHealthy, crashed, -time.Hour, held(v1alpha1.Degraded, "CrashLoopBackOff", 30*time.Second)},
		"it had no memory":                  {deployment, isHealthy, line(v1alpha1.Degraded, "OOMKilled"), 0, held(v1alpha1.Degraded, "OOMKilled", 30*time.Second)},
		"it had crashed once":               {deployment, isHealthy, line(v1alpha1.Progressing, "CrashLoopBackOff"), 0, held(v1alpha1.Progressing, "CrashLoopBackOff", 30*time.Second)},
		"it had another problem":            {deployment, isHealthy, line(v1alpha1.Degraded, "ImagePullBackOff"), 0, isHealthy},
		"it had no problem":                 {deployment, isHealthy, nil, 0, isHealthy},
		"it is not healthy":                 {deployment, health.Verdict{Health: v1alpha1.Progressing}, crashed, 0, health.Verdict{Health: v1alpha1.Progressing}},
		"a Pod that runs again":             {inPhase("Running"), isHealthy, crashed, 0, held(v1alpha1.Degraded, "CrashLoopBackOff", 30*time.Second)},
		"a Pod that has ended well":         {inPhase("Succeeded"), isHealthy, crashed, 0, isHealthy},
		"a Job that is complete":            {`{apiVersion: batch/v1, kind: Job, metadata: {name: web}}`, isHealthy, crashed, 0, isHealthy},
		"a Subscription whose operator ran": {`{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: web}}`, isHealthy, crashed, 0, isHealthy},
	} {
		t.Run(name, func(t *testing.T) {
			if got := health.AfterCrash(object(t, test.object), test.verdict, test.line, test.well); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
