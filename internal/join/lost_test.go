// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestTheHostThatLostAMemberReleasesItAndWritesNothingThere(t *testing.T) {
	r := newRivals(t, join.Options{})
	account := r.asHost(t, "east")                  // uses the token that the takeover revokes
	if err := ask(within(t), account); err != nil { // loads the member's kinds before the token is revoked
		t.Fatal(err)
	}
	theirs := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "theirs"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}}}
	if err := r.east.Create(within(t), theirs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, r.east, theirs) })
	_, reported, err := r.second.join(t, r.eastConfig, takingOver("mine"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(reported, func(s steps.Step) bool { return strings.HasSuffix(s.What, "RoleBinding default/theirs") }) {
		t.Errorf("a binding of somebody else's, which names the account and not the host, is not told: %v", reported)
	}
	eventually(t, "the first host is shut out", func(ctx context.Context) bool {
		return apierrors.IsUnauthorized(account.Get(ctx, types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{}))
	})
	leave := func(member client.Client, cleared bool) func(*testing.T) error {
		return func(t *testing.T) error {
			t.Helper()
			m := r.deleteMember(t, "east")
			if cleared {
				m.Annotations = map[string]string{join.AnnotationCleared: "true"}
				if err := r.host.Update(within(t), m); err != nil {
					t.Fatal(err)
				}
			}
			return join.Leave(within(t), r.host, m, member, r.firstUID, nil)
		}
	}
	for name, tc := range map[string]struct {
		do   func(*testing.T) error
		want string
		// waits is true if the MemberCluster still exists after the unjoin.
		waits bool
	}{
		"it joins again": {waits: true, want: `is a member of another host, "second"`, do: func(t *testing.T) error {
			_, _, err := r.join(t, r.eastConfig, join.Options{Name: "east"})
			if diff := errortext.Diff("join with --take-over", err); diff != "" {
				t.Error(diff)
			}
			return err
		}},
		"its manager, whose account is gone":                     {waits: true, want: "Unauthorized", do: leave(account, false)},
		"its manager, with credentials that a person gave it":    {do: leave(r.east, false)},
		"its manager, which was killed when the most was gone":   {do: leave(r.east, true)},
		"its manager, likewise, whose account is gone meanwhile": {do: leave(account, true)},
		"a person who may do everything": {do: func(t *testing.T) error {
			return join.Unjoin(within(t), r.hostConfig, r.eastConfig, join.UnjoinOptions{Name: "east", Wait: time.Minute}, nil)
		}},
		"a person who may do everything, of a registration without finalizer": {do: func(t *testing.T) error {
			m, err := join.FindMember(within(t), r.host, "east")
			if err != nil {
				return err
			}
			m.Finalizers = nil
			if err := r.host.Update(within(t), m); err != nil {
				return err
			}
			return join.Unjoin(within(t), r.hostConfig, r.eastConfig, join.UnjoinOptions{Name: "east", Wait: time.Minute}, nil)
		}},
		"a person who forgets it": {do: func(t *testing.T) error {
			return join.Unjoin(within(t), r.hostConfig, nil, join.UnjoinOptions{Name: "east", Forget: true, Wait: time.Minute}, nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r.registerAnew(t)
			before := ours(t, r.east)
			err := tc.do(t)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(before, ours(t, r.east)); diff != "" {
				t.Errorf("the other host's member was written to: %s", diff)
			}
			if m, err := join.FindMember(within(t), r.host, "east"); err != nil || tc.waits != (m != nil) {
				t.Errorf("the MemberCluster: %v %v", m, err)
			}
			r.expectUntouched(t)
		})
	}
}

// registerAnew creates the MemberCluster of east at the first host again, as it was before the takeover.
func (r *rivals) registerAnew(t *testing.T) {
	t.Helper()
	m, err := join.FindMember(within(t), r.host, "east")
	if err != nil {
		t.Fatal(err)
	}
	if m != nil && m.DeletionTimestamp != nil {
		if err := join.Release(within(t), r.host, m, nil); err != nil {
			t.Fatal(err)
		}
		m = nil
	}
	if m != nil {
		return
	}
	registerAt(t, r.host, r.eastConfig.Host, v1alpha1.Finalizer)
}

// registerAt creates a MemberCluster east at a host, without a join.
func registerAt(t *testing.T, host client.Client, endpoint string, finalizers ...string) {
	t.Helper()
	m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east", Finalizers: finalizers}}
	m.Spec = v1alpha1.MemberClusterSpec{Endpoint: endpoint, Collector: v1alpha1.CollectorHost,
		NamespacePolicy: v1alpha1.NamespacesManaged, Suspend: v1alpha1.SuspendNone}
	m.Spec.CredentialsRef.Name = "east"
	if err := host.Create(within(t), m); err != nil {
		t.Fatal(err)
	}
}
