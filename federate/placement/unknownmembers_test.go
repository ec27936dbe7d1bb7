// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestUnknownNamesInOverridesAreReported(t *testing.T) {
	override := func(names ...string) v1alpha1.Override {
		return v1alpha1.Override{Clusters: &v1alpha1.ClusterSelection{Names: names}}
	}
	const see = " (see `kubectl get memberclusters`)"
	everywhere := &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}}
	for name, tc := range map[string]struct {
		overrides []v1alpha1.Override
		clusters  *v1alpha1.ClusterSelection
		want      string // the wanted Decision.Notice
		message   string // the wanted message of the condition Placed
		reason    string // the wanted reason of the condition Placed; "" means Placed
	}{
		"all are known":                  {[]v1alpha1.Override{override("east"), {}}, everywhere, "", "3 of 3 members", ""},
		"an override for every member":   {[]v1alpha1.Override{{}}, everywhere, "", "3 of 3 members", ""},
		"a member that is not placed":    {[]v1alpha1.Override{override("west")}, &v1alpha1.ClusterSelection{Names: []string{"east"}}, "", "1 of 3 members", ""},
		"one is unknown":                 {[]v1alpha1.Override{{}, override("west", "ghost")}, everywhere, "spec.overrides[1].clusters.names: no MemberCluster is named ghost" + see, "3 of 3 members; spec.overrides[1].clusters.names: no MemberCluster is named ghost" + see, ""},
		"two, in the order of the names": {[]v1alpha1.Override{override("wraith", "ghost")}, everywhere, "spec.overrides[0].clusters.names: no MemberCluster is named ghost, wraith" + see, "3 of 3 members; spec.overrides[0].clusters.names: no MemberCluster is named ghost, wraith" + see, ""},
		"the placement's comes first": {[]v1alpha1.Override{override("ghost")}, &v1alpha1.ClusterSelection{Names: []string{"east", "spook"}},
			"spec.overrides[0].clusters.names: no MemberCluster is named ghost" + see,
			"spec.placement.clusters.names: no MemberCluster is named spook" + see + "; the one other selected member is served; " +
				"spec.overrides[0].clusters.names: no MemberCluster is named ghost" + see, v1alpha1.ReasonClusterNotFound},
		"many": {[]v1alpha1.Override{override("a"), override("b"), override("c"), override("d"), override("e"), override("f"), override("g")}, &v1alpha1.ClusterSelection{},
			"spec.overrides[0].clusters.names: no MemberCluster is named a" + see + "; spec.overrides[1].clusters.names: no MemberCluster is named b" + see +
				"; spec.overrides[2].clusters.names: no MemberCluster is named c" + see + "; spec.overrides[3].clusters.names: no MemberCluster is named d" + see +
				"; spec.overrides[4].clusters.names: no MemberCluster is named e" + see + "; 2 more overrides name members that are not registered", "", v1alpha1.ReasonNoClusterMatches},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decide(Input{Wrapper: wrapper(1), Spec: v1alpha1.Placement{Clusters: tc.clusters}, Overrides: tc.overrides, Members: fleet}, start)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Notice); diff != "" {
				t.Errorf("the notice (-want +got):\n%s", diff)
			}
			reason := v1alpha1.ReasonPlaced
			if tc.reason != "" {
				reason = tc.reason
			}
			if got.Reason != reason || tc.message != "" && got.Message != tc.message {
				t.Errorf("Placed says %s: %s", got.Reason, got.Message)
			}
		})
	}
}
