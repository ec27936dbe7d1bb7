// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/member"
)

func TestACollectorOnTheMemberIsReady(t *testing.T) {
	silent := func(s *member.ProbeResult) { s.HeartbeatChanged = now.Add(-time.Hour) }
	never := func(s *member.ProbeResult) { s.Heartbeat, s.HeartbeatChanged = time.Time{}, time.Time{} }
	pulling := membercollector.State{Reason: v1alpha1.ReasonImageNotPulled, Message: "node w cannot pull image r/c:v2 of the collector: ErrImagePull"}
	updating := pulling
	updating.Available = true
	starting := membercollector.State{Reason: v1alpha1.ReasonCollectorStarting, Message: "pod a of the collector is not ready yet"}
	works := membercollector.State{Available: true}
	for name, tc := range map[string]struct {
		probe      func(*member.ProbeResult)
		state      *membercollector.State
		was        bool // CollectorReady was True before
		wantReason string
		wantReady  bool
		wantWords  []string
	}{
		"it works": {state: &works, wantReason: v1alpha1.ReasonCollecting, wantReady: true, wantWords: []string{"collector v0.1.0 runs on the member"}},
		"its Deployment was not read, and it writes no heartbeats": {probe: silent, was: true, wantReason: v1alpha1.ReasonNoHeartbeat, wantWords: []string{"no heartbeat since"}},
		"the manager has just started":                             {was: true, wantReason: v1alpha1.ReasonCollecting, wantReady: true, wantWords: []string{"as before"}},
		"the manager has not read it yet":                          {wantReason: v1alpha1.ReasonCollecting, wantReady: true},
		"its image cannot be pulled": {state: &pulling, wantReason: v1alpha1.ReasonImageNotPulled,
			wantWords: []string{"member east: node w cannot pull image r/c:v2", "run `hostctl join east --cluster-kubeconfig FILE` again", "--image"}},
		"an update whose image cannot be pulled": {state: &updating, wantReason: v1alpha1.ReasonCollecting, wantReady: true,
			wantWords: []string{"collector v0.1.0 runs on the member, but the new version of its Deployment does not roll out: ImageNotPulled: node w cannot pull"}},
		"a pod that moves to another node":              {state: &starting, wantReason: v1alpha1.ReasonCollecting, wantReady: true},
		"a pod that never starts":                       {state: &starting, probe: silent, wantReason: v1alpha1.ReasonCollectorStarting, wantWords: []string{"not ready yet; wait"}},
		"a pod runs and has never reported":             {state: &works, probe: never, wantReason: v1alpha1.ReasonNoHeartbeat, wantWords: []string{"has not reported", "logs deployment/fairlead-collector"}},
		"a pod runs and has stopped writing heartbeats": {state: &works, probe: silent, wantReason: v1alpha1.ReasonNoHeartbeat, wantWords: []string{"no heartbeat since 2026-01-02T02:04:05Z"}},
		"its Deployment was deleted":                    {state: &membercollector.State{Reason: v1alpha1.ReasonDeploymentMissing, Message: "it is not there"}, wantReason: v1alpha1.ReasonDeploymentMissing, wantWords: []string{"hostctl join east"}},
		"it crashes":                                    {state: &membercollector.State{Reason: v1alpha1.ReasonCollectorCrashed, Message: "x"}, wantReason: v1alpha1.ReasonCollectorCrashed, wantWords: []string{"--previous"}},
		"the member refuses its pod":                    {state: &membercollector.State{Reason: v1alpha1.ReasonPodRefused, Message: "x"}, wantReason: v1alpha1.ReasonPodRefused, wantWords: []string{"change the member so that it accepts the pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			mc, probe := registered(v1alpha1.CollectorMember), well()
			if tc.probe != nil {
				tc.probe(&probe)
			}
			if tc.was {
				mc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionCollectorReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCollecting,
					Message: "as before", ObservedGeneration: mc.Generation}}
			}
			statusWriter{probe: probe, inspected: inspection{collector: tc.state}, version: "v0.1.0", now: now}.write(mc)
			c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCollectorReady)
			if c.Reason != tc.wantReason || (c.Status == metav1.ConditionTrue) != tc.wantReady || meta.IsStatusConditionTrue(mc.Status.Conditions, v1alpha1.ConditionReady) != tc.wantReady {
				t.Errorf("%+v", mc.Status.Conditions)
			}
			for _, want := range tc.wantWords {
				if !strings.Contains(c.Message, want) {
					t.Errorf("want %q in %q", want, c.Message)
				}
			}
		})
	}
}

func TestAManagerOlderThanTheCollectorIsReported(t *testing.T) {
	for name, tc := range map[string]struct {
		mode    v1alpha1.CollectorMode
		version string
		want    string
	}{
		"newer":                            {v1alpha1.CollectorMember, "v1.3.0", "collector v1.3.0 runs on the member; it is newer than the manager, which has version v1.2.0: upgrade the manager"},
		"newer, and run by a person":       {v1alpha1.CollectorExternal, "v1.3.0", "collector v1.3.0 runs; it is newer than the manager, which has version v1.2.0: upgrade the manager"},
		"the same":                         {v1alpha1.CollectorMember, "v1.2.0", "collector v1.2.0 runs on the member"},
		"older, which has a condition":     {v1alpha1.CollectorMember, "v1.1.0", "collector v1.1.0 runs on the member"},
		"a build that has no order":        {v1alpha1.CollectorExternal, "v0.0.0-dev", "collector v0.0.0-dev runs"},
		"inside the manager, not compared": {v1alpha1.CollectorHost, "v1.3.0", "the collector in the manager runs"},
	} {
		t.Run(name, func(t *testing.T) {
			mc, probe := registered(tc.mode), well()
			probe.CollectorVersion = tc.version
			statusWriter{probe: probe, inspected: inspection{read: true, collector: &membercollector.State{Available: true}}, version: "v1.2.0", now: now}.write(mc)
			if c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCollectorReady); c.Message != tc.want || c.Status != metav1.ConditionTrue {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestAMemberOlderThanTheHostIsReported(t *testing.T) {
	older := func(s *member.ProbeResult) { s.CollectorVersion = "v0.9.0" }
	newer := func(s *member.ProbeResult) { s.CollectorVersion = "v1.3.0" }
	same := func(s *member.ProbeResult) { s.CollectorVersion = "v1.2.0" }
	lacks := inspection{read: true, missing: []string{"deliveries.spec.seal"}, appliedBy: "v0.9.0"}
	for name, tc := range map[string]struct {
		mode      v1alpha1.CollectorMode
		probe     func(*member.ProbeResult)
		inspected inspection
		want      string // the condition's reason; "" = the condition is absent
		wantWords []string
	}{
		"host and member have the same version": {mode: v1alpha1.CollectorMember, probe: same},
		"its CRDs lack a field": {mode: v1alpha1.CollectorMember, probe: same, inspected: lacks, want: v1alpha1.ReasonCRDsOutdated,
			wantWords: []string{"which hostctl v0.9.0 applied", "deliveries.spec.seal", "run `hostctl join east --cluster-kubeconfig FILE` with hostctl v1.2.0 or later"}},
		"its CRDs lack a field, with collector Host": {mode: v1alpha1.CollectorHost, probe: older, inspected: lacks, want: v1alpha1.ReasonCRDsOutdated},
		"its collector is older": {mode: v1alpha1.CollectorMember, probe: older, want: v1alpha1.ReasonCollectorOutdated,
			wantWords: []string{"the collector has version v0.9.0 and the manager has version v1.2.0", "run `hostctl join east"}},
		"the CRDs lack a field, and the collector is older": {mode: v1alpha1.CollectorMember, probe: older, inspected: lacks, want: v1alpha1.ReasonCRDsOutdated,
			wantWords: []string{"deliveries.spec.seal", "the collector has version v0.9.0"}},
		"a collector that a person runs":                          {mode: v1alpha1.CollectorExternal, probe: older, want: v1alpha1.ReasonCollectorOutdated, wantWords: []string{"start the collector of the manager's version"}},
		"a newer collector is not outdated":                       {mode: v1alpha1.CollectorMember, probe: newer},
		"builds without an order are not compared":                {mode: v1alpha1.CollectorMember, probe: func(s *member.ProbeResult) { s.CollectorVersion = "v0.0.0-dev" }},
		"the version of the host's own collector is not compared": {mode: v1alpha1.CollectorHost, probe: older},
	} {
		t.Run(name, func(t *testing.T) {
			mc, probe := registered(tc.mode), well()
			tc.probe(&probe)
			at := statusWriter{probe: probe, inspected: tc.inspected, version: "v1.2.0", now: now}
			at.inspected.read = true
			at.write(mc)
			c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionMemberOutdated)
			if (c == nil) != (tc.want == "") || c != nil && (c.Reason != tc.want || c.Status != metav1.ConditionTrue) {
				t.Fatalf("%+v", mc.Status.Conditions)
			}
			ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
			if ready.Status != metav1.ConditionTrue || strings.Contains(ready.Message, "see MemberOutdated") != (tc.want != "") {
				t.Errorf("Ready: %+v", ready)
			}
			for _, want := range tc.wantWords {
				if !strings.Contains(c.Message, want) {
					t.Errorf("want %q in %q", want, c.Message)
				}
			}
			if c == nil {
				return
			}
			lost := at
			lost.probe.Reachable, lost.probe.Valid, lost.probe.Reason, lost.inspected = false, false, v1alpha1.ReasonUnreachable, inspection{}
			lost.write(mc)
			if meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionMemberOutdated) == nil {
				t.Error("an outage must not end the condition")
			}
			restarted := at
			restarted.inspected = inspection{}
			restarted.write(mc)
			if meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionMemberOutdated) == nil {
				t.Error("a restart of the manager must not end the condition")
			}
			at.inspected, at.version = inspection{read: true}, probe.CollectorVersion
			at.write(mc)
			if meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionMemberOutdated) != nil {
				t.Error("another join must end the condition")
			}
		})
	}
}
