// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
)

// A person who can write MemberClusters creates one that refers to the Secret of another member, and deletes it.
func TestLeavingAMemberKeepsTheSecretsOfOtherMembers(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	for name, annotations := range map[string]map[string]string{
		"at once":         nil,
		"as if half gone": {join.AnnotationCleared: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			evil := &v1alpha1.MemberCluster{}
			evil.Name, evil.Annotations, evil.Finalizers = "evil", annotations, []string{v1alpha1.Finalizer}
			evil.Spec.Endpoint, evil.Spec.CredentialsRef.Name = "https://evil:6443", "east"
			if err := f.host.Create(within(t), evil); err != nil {
				t.Fatal(err)
			}
			if annotations == nil {
				m := f.deleteMember(t, "evil")
				if err := join.Release(within(t), f.host, m, nil); err != nil {
					t.Fatal(err)
				}
			} else if err := join.Leave(within(t), f.host, f.deleteMember(t, "evil"), nil, "host-uid", nil); err != nil {
				t.Fatal(err)
			}
			if m, err := join.FindMember(within(t), f.host, "evil"); m != nil || err != nil {
				t.Errorf("the MemberCluster is still there: %v %v", m, err)
			}
			f.registered(t, "east") // fails the test if the Secret is gone
		})
	}
}

// An annotation does not prove that a member is cleared: everyone who can write MemberClusters can set it.
func TestAnAnnotationDoesNotProveThatAMemberIsCleared(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	hostUID, err := cluster.Identity(within(t), f.host)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := f.registered(t, "east")
	before := m.DeepCopy()
	m.Annotations = map[string]string{join.AnnotationCleared: "true"}
	if err := f.host.Patch(within(t), m, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if err := join.Leave(within(t), f.host, f.deleteMember(t, "east"), f.asHost(t, "east"), hostUID, nil); err != nil {
		t.Fatal(err)
	}
	f.awaitClean(t, f.east)
}
