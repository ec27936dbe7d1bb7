// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// The profiles included more rights when an earlier version joined the member. A second join without --allow keeps these
// rights, and tells the user which rights today's profiles lack. With --allow the host has only the rights of today's
// profiles.
func TestAMemberOfAnEarlierVersionKeepsItsFormerGrants(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	asBefore := func() {
		t.Helper()
		write := []string{"get", "list", "watch", "create", "patch", "delete"}
		for name, rules := range map[string][]rbacv1.PolicyRule{
			"storage": {{APIGroups: []string{""}, Resources: []string{"persistentvolumes"}, Verbs: write},
				{APIGroups: []string{"snapshot.storage.k8s.io"}, Resources: []string{"*"}, Verbs: write}},
			"olm": {{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"*"}, Verbs: write},
				{APIGroups: []string{"olm.operatorframework.io"}, Resources: []string{"*"}, Verbs: write}},
		} {
			role := &rbacv1.ClusterRole{}
			if err := f.east.Get(within(t), types.NamespacedName{Name: permissions.HostAccount + "-" + name}, role); err != nil {
				t.Fatal(err)
			}
			role.Rules = rules
			if err := f.east.Update(within(t), role); err != nil {
				t.Fatal(err)
			}
		}
	}
	more := []string{"olm.operatorframework.io/*", "operators.coreos.com/*"}
	kept := append([]string{"core", "storage", "volumes", "olm"}, more...)
	asBefore()
	for _, isSaid := range []bool{true, false} { // in the second round the grants name these rights themselves
		r, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kept, r.Grants); diff != "" {
			t.Error(diff)
		}
		for _, words := range []string{"the host has rights there that its profiles no longer include", "hostctl join east --cluster-kubeconfig FILE --allow core,storage,olm"} {
			if said(reported, words) != isSaid {
				t.Errorf("the join says %q: want %v\n%v", words, isSaid, reported)
			}
		}
	}
	asBefore()
	r, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east", Allow: permissions.DefaultGrants()})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Grants, permissions.DefaultGrants()) || !said(reported, "The host can no longer write persistentvolumes") || !said(reported, "volumes") {
		t.Errorf("%v %v", r.Grants, reported)
	}
}
