// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestASettingThatIsLeftOutStaysAsAnEarlierJoinLeftIt(t *testing.T) {
	manager := managerOf("r/manager:v1")
	manager.Spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "of-host"}}
	settle := func(given Given, earlier ...Given) Settings {
		t.Helper()
		first, err := Settle("eu-1", Given{}, manager, nil)
		for _, e := range append(earlier, given) {
			if err == nil {
				first, err = Settle("eu-1", e, manager, Deployment(first))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	edge := corev1.Toleration{Key: "edge", Operator: corev1.TolerationOpEqual, Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	for name, tc := range map[string]struct {
		given, earlier Given
		secrets        []string
		kept           []string // the pull secrets that a join does not copy from the host
		tolerations    []corev1.Toleration
	}{
		"the pull secrets are the host's at first": {secrets: []string{"of-host"}},
		"what is given replaces them":              {given: Given{PullSecrets: []string{"mine"}}, secrets: []string{"mine"}},
		"and stays":                                {earlier: Given{PullSecrets: []string{"mine"}}, secrets: []string{"mine"}, kept: []string{"mine"}},
		"none is none":                             {given: Given{PullSecrets: []string{None}}},
		"and stays none":                           {earlier: Given{PullSecrets: []string{None}}},
		"tolerations stay":                         {earlier: Given{Tolerations: []string{"edge=yes:NoSchedule"}}, secrets: []string{"of-host"}, tolerations: []corev1.Toleration{edge}},
		"until others are given": {earlier: Given{Tolerations: []string{"edge=yes:NoSchedule"}}, given: Given{Tolerations: []string{":NoExecute"}},
			secrets: []string{"of-host"}, tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}},
		"or none": {earlier: Given{Tolerations: []string{"edge=yes:NoSchedule"}}, given: Given{Tolerations: []string{None}}, secrets: []string{"of-host"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := settle(tc.given, tc.earlier)
			if diff := cmp.Diff(tc.secrets, got.PullSecrets); diff != "" {
				t.Errorf("pull secrets: %s", diff)
			}
			copied := slices.DeleteFunc(slices.Clone(got.PullSecrets), func(name string) bool { return slices.Contains(tc.kept, name) })
			if !slices.Equal(got.FromHost, copied) {
				t.Errorf("a join copies %v from the host, want %v", got.FromHost, copied)
			}
			if len(got.Tolerations) != len(tc.tolerations) || len(got.Tolerations) > 0 && cmp.Diff(tc.tolerations, got.Tolerations) != "" {
				t.Errorf("tolerations: %v, want %v", got.Tolerations, tc.tolerations)
			}
		})
	}
}

func TestTheCollectorsPodIsRestricted(t *testing.T) {
	d := Deployment(Settings{ClusterName: "eu-1", Image: "r/collector:v1", PullPolicy: corev1.PullIfNotPresent})
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 || d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 1 {
		t.Errorf("an update that cannot start leaves no collector: %+v", d.Spec.Strategy)
	}
	if sc := pod.SecurityContext; !*sc.RunAsNonRoot || *sc.RunAsUser == 0 || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod: %+v", sc)
	}
	if sc := c.SecurityContext; *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || cmp.Diff([]corev1.Capability{"ALL"}, sc.Capabilities.Drop) != "" {
		t.Errorf("the container: %+v", sc)
	}
	if token := pod.Volumes[0].Projected.Sources[0].ServiceAccountToken; *pod.AutomountServiceAccountToken || *token.ExpirationSeconds > 3600 || token.Path != "token" {
		t.Errorf("the token: %+v", token)
	}
	if c.Resources.Limits.Memory().Value() <= 230<<20 || c.Env[0].Name != "GOMEMLIMIT" || c.Env[0].Value != "230MiB" {
		t.Errorf("GOMEMLIMIT is not below the limit: %+v %+v", c.Env, c.Resources)
	}
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || len(c.Resources.Requests) != 2 || len(c.Resources.Limits) != 2 {
		t.Errorf("%+v", c)
	}
	if !IsOurs(d) || cmp.Diff(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels) != "" {
		t.Errorf("labels: %+v", d.ObjectMeta)
	}
}
