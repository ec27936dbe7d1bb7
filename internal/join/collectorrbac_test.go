// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

func TestACollectorMayReadWhatComesAfterTheJoin(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Allow: []string{"any"}, Collector: v1alpha1.CollectorExternal})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	role := &rbacv1.ClusterRole{}
	reads := func() []string {
		t.Helper()
		if err := f.east.Get(within(t), client.ObjectKey{Name: permissions.CollectorAccount + "-granted"}, role); err != nil {
			t.Fatal(err)
		}
		var groups []string
		for _, rule := range role.Rules {
			groups = append(groups, rule.APIGroups...)
		}
		return groups
	}
	before := reads()
	member := f.asHost(t, "east") // RBAC lets the host's account grant only rights that it has itself
	if err := memberinstall.LetCollectorRead(within(t), member, "late.example.com"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Concat(before, []string{"late.example.com"}), reads()); diff != "" {
		t.Error(diff)
	}
	for _, rule := range role.Rules {
		if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "secrets") {
			t.Errorf("a collector may %v", rule)
		}
	}
	version := role.ResourceVersion
	if err := memberinstall.LetCollectorRead(within(t), member, "late.example.com", "apps"); err != nil {
		t.Fatal(err)
	}
	if reads(); role.ResourceVersion != version {
		t.Error("groups that are there are written again")
	}
}

func TestGrantsOfEveryGroup(t *testing.T) {
	for name, tc := range map[string]struct {
		grants []string
		want   bool
	}{
		"any holds those that are not there yet": {[]string{"any"}, true},
		"the default three name theirs":          {permissions.DefaultGrants(), false},
		"and single ones do":                     {[]string{"core", "example.com/widgets"}, false},
		"nothing is nothing":                     {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, permissions.GrantsEveryGroup(tc.grants)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
