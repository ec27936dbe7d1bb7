// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// TokenMemory is the longest time for which an API server can accept a token after the token's account was deleted.
// kube-apiserver caches accepted tokens for 10 s, which no flag changes, and its watch of accounts may be 2 s late.
const TokenMemory = 12 * time.Second

// Revoke removes the host's and the collector's account with their bindings, and tells the user. This makes every token of
// the accounts invalid. The argument host is the name of the host in the messages.
func Revoke(ctx context.Context, p cluster.Pair, collector Collector, host string) error {
	removed, others, err := removeAccounts(ctx, p, collector)
	if err != nil {
		return err
	}
	outcome := steps.Unchanged
	if removed > 0 {
		outcome = steps.Removed
	}
	p.Steps.Done(outcome, fmt.Sprintf("%s: account of host %s, its tokens and bindings", p.Member.Name, host), "")
	if len(others) > 0 {
		p.Steps.Note("%s: no join created these role bindings for the host's account, and they give their rights to the new host too: %s", p.Member.Name, strings.Join(others, ", "))
	}
	return nil
}

// RevokeAgain removes the accounts once more, if a join by the old host has created them again since Revoke. The argument
// host is the old host's name. RevokeAgain reports whether there was something to remove.
func RevokeAgain(ctx context.Context, p cluster.Pair, collector Collector, host string) (bool, error) {
	removed, _, err := removeAccounts(ctx, p, collector)
	if err != nil || removed == 0 {
		return false, err
	}
	p.Steps.Done(steps.Removed, fmt.Sprintf("%s: account of host %s, its tokens and bindings", p.Member.Name, host), "a join by that host had created it again")
	return true, nil
}

// removeAccounts deletes the two accounts that joins create, after their bindings. The ClusterRoles stay: without
// bindings they give no rights, and this join corrects them. Objects that an account owns are deleted before the account.
// Otherwise the garbage collector could later delete an object of the same name that this join creates. others has the
// names of the bindings of these accounts that no join created.
func removeAccounts(ctx context.Context, p cluster.Pair, collector Collector) (removed int, others []string, err error) {
	bindings, others, err := listBindings(ctx, p.Member)
	if err != nil {
		return 0, nil, err
	}
	if err := collector.drop(ctx, p); err != nil {
		return 0, nil, err
	}
	var t steps.Tally
	for _, obj := range slices.Concat(bindings, []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.CollectorAccount}},
		cluster.ServiceAccount(permissions.CollectorAccount),
		cluster.ServiceAccount(permissions.HostAccount),
	}) {
		outcome, err := p.Member.Remove(ctx, obj)
		if err != nil {
			return 0, nil, err
		}
		t.Add(outcome)
	}
	return t.Removed(), others, nil
}

// listBindings lists the RoleBindings and ClusterRoleBindings that name the host's or the collector's account. made are
// the bindings that joins created, and others are the names of all other bindings.
func listBindings(ctx context.Context, member cluster.Cluster) (made []client.Object, others []string, err error) {
	var clusterWide rbacv1.ClusterRoleBindingList
	var namespaced rbacv1.RoleBindingList
	for _, l := range []client.ObjectList{&clusterWide, &namespaced} {
		if err := member.Client.List(ctx, l); err != nil {
			return nil, nil, fmt.Errorf("listing the role bindings on %s: %w", member.Name, err)
		}
	}
	sort := func(obj client.Object, subjects []rbacv1.Subject) {
		ours := obj.GetNamespace() == "" || obj.GetNamespace() == v1alpha1.SystemNamespace
		switch {
		case !slices.ContainsFunc(subjects, isAccount):
		case ours && (strings.HasPrefix(obj.GetName(), permissions.HostAccount) || strings.HasPrefix(obj.GetName(), permissions.CollectorAccount)):
			made = append(made, obj)
		default:
			others = append(others, cluster.Describe(obj))
		}
	}
	for i := range clusterWide.Items {
		sort(&clusterWide.Items[i], clusterWide.Items[i].Subjects)
	}
	for i := range namespaced.Items {
		sort(&namespaced.Items[i], namespaced.Items[i].Subjects)
	}
	return made, others, nil
}

// isAccount reports whether a subject is one of the two service accounts that joins create.
func isAccount(s rbacv1.Subject) bool {
	return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == v1alpha1.SystemNamespace &&
		(s.Name == permissions.HostAccount || s.Name == permissions.CollectorAccount)
}

// AwaitForgotten waits until no API server of the member can accept a token of the deleted account. It waits for a fixed
// time, the argument memory, because a member may have several API servers, and a test request would reach only one of
// them. AwaitForgotten waits even if this join found no account, because another client may have deleted the account a
// moment ago. If the user stops the join during the wait, the error begins with the text in the argument stopped. In a dry
// run AwaitForgotten does not wait.
func AwaitForgotten(ctx context.Context, p cluster.Pair, memory time.Duration, stopped string) error {
	if p.Member.DryRun {
		return nil
	}
	p.Steps.Note("%s: for up to %s the member's API servers may still accept tokens of the old account, so the join waits before it creates the new account", p.Member.Name, memory)
	timer := time.NewTimer(memory)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", stopped, context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}
