// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// putAccounts creates the host's account and the collector's account, and grants them their rights in fairlead-system. The
// order matters:
//
//  1. dropCollectorAccount deletes the collector's account if a party that must not have its tokens may have some (see
//     mayKeepAccount).
//  2. putSystemRoles withdraws the host's right to create tokens of the collector's account, unless the collector runs
//     inside the manager.
//  3. putAccounts creates the collector's account again. The host cannot get a token of the new account with its earlier
//     rights.
//
// If a join is killed after step 1, the next join finds no collector's account, and creates it.
func (p *joiner) putAccounts(ctx context.Context) error {
	var t tally
	account, outcome, err := put(ctx, p.member, serviceAccount(HostAccount), func(*corev1.ServiceAccount) {})
	if err != nil {
		return err
	}
	p.account = account
	t.add(outcome)
	outcome, err = p.dropCollectorAccount(ctx)
	if err != nil {
		return err
	}
	t.add(outcome)
	roles, err := p.putSystemRoles(ctx)
	if err != nil {
		return err
	}
	p.collectorAccount, outcome, err = put(ctx, p.member, serviceAccount(CollectorAccount), func(sa *corev1.ServiceAccount) { belongTo(sa, account) })
	if err != nil {
		return err
	}
	t.add(outcome)
	p.done(t.outcome(), p.member.cluster+": account "+HostAccount+", "+CollectorAccount, "")
	if p.collector == v1alpha1.CollectorExternal && outcome == Created && !p.opts.DryRun {
		p.note("the collector's account on %s is new, and its API server refuses the tokens of the earlier account. %s", p.member.cluster, newToken)
	}
	p.done(roles, p.member.cluster+": roles in "+v1alpha1.SystemNamespace, "")
	return nil
}

// dropCollectorAccount deletes the collector's account in two cases. The API server then refuses all tokens of the account.
// putAccounts creates it again.
//
//   - mayKeepAccount returns false. For example, the host ran the collector and has a token, and this join moves the
//     collector to the member.
//   - The present account of the host does not own it. It then usually belongs to an account of the host that no longer
//     exists, so the member's garbage collector is about to delete it.
//
// dropCollectorAccount deletes the collector's Deployment on the member first. Otherwise the Deployment's pods would
// continue with tokens that the API server refuses.
func (p *joiner) dropCollectorAccount(ctx context.Context) (Outcome, error) {
	present, err := p.presentCollector(ctx)
	if err != nil {
		return "", err
	}
	account := serviceAccount(CollectorAccount)
	if err := p.member.get(ctx, account); errors.Is(err, errAbsent) {
		return Unchanged, nil
	} else if err != nil {
		return "", fmt.Errorf("reading %s on %s: %w", describe(account), p.member.cluster, err)
	}
	secret, err := p.hostSecret(ctx)
	if err != nil {
		return "", err
	}
	holds := false
	if secret != nil {
		had, err := readToken(string(secret.Data[v1alpha1.SecretCollectorToken]))
		holds = err == nil && had.account == account.UID
	}
	isOwned := slices.ContainsFunc(account.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == p.account.UID })
	may, err := p.hostMayCreateTokens(ctx, CollectorAccount)
	if err != nil {
		return "", err
	}
	deployed := present != nil && membercollector.IsOurs(present)
	if isOwned && mayKeepAccount(p.collector, holds, may, deployed) {
		return Unchanged, nil
	}
	if err := p.dropMemberCollector(ctx); err != nil {
		return "", err
	}
	return p.member.remove(ctx, account)
}

// mayKeepAccount reports whether the collector's account can stay: the party that runs the collector in this mode must have
// tokens of the account, and no other party may have any. The host has tokens if its Secret holds one (hostHolds), and may
// have some if its Role lets it create tokens (hostMay). The pods of a collector's Deployment on the member have tokens
// (deployed). In mode External an administrator creates the tokens, so neither the host nor such pods may have any.
func mayKeepAccount(mode v1alpha1.CollectorMode, hostHolds, hostMay, deployed bool) bool {
	switch mode {
	case v1alpha1.CollectorHost:
		return hostHolds && !deployed
	case v1alpha1.CollectorMember:
		return !hostHolds && !hostMay && deployed
	default:
		return !hostHolds && !hostMay && !deployed
	}
}

// hostMayCreateTokens reports whether the Role on the member, which an earlier join wrote, lets the host create tokens of
// an account. The Secret at the host does not prove that the host has no token: the host can store a token elsewhere, and a
// person can delete the Secret.
func (p *joiner) hostMayCreateTokens(ctx context.Context, account string) (bool, error) {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: HostAccount}}
	if err := p.member.get(ctx, role); errors.Is(err, errAbsent) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("reading %s on %s: %w", describe(role), p.member.cluster, err)
	}
	return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "serviceaccounts/token") && slices.Contains(r.ResourceNames, account)
	}), nil
}

// putSystemRoles grants both accounts their rights in fairlead-system. The host's account owns the Roles and RoleBindings,
// so the member's garbage collector deletes them after that account.
func (p *joiner) putSystemRoles(ctx context.Context) (Outcome, error) {
	var t tally
	for _, r := range []role{
		{name: HostAccount, rules: hostSystemRules(p.collector), account: HostAccount},
		{name: CollectorAccount, rules: collectorSystemRules(), account: CollectorAccount},
	} {
		meta := metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: r.name}
		_, outcome, err := put(ctx, p.member, &rbacv1.Role{ObjectMeta: meta}, func(have *rbacv1.Role) {
			have.Rules = r.rules
			belongTo(have, p.account)
		})
		if err != nil {
			return "", explainGrant(err, p.member.cluster)
		}
		t.add(outcome)
		_, outcome, err = put(ctx, p.member, &rbacv1.RoleBinding{ObjectMeta: meta}, func(have *rbacv1.RoleBinding) {
			have.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: r.name}
			have.Subjects = subjects(r.account)
			belongTo(have, p.account)
		})
		if err != nil {
			return "", explainGrant(err, p.member.cluster)
		}
		t.add(outcome)
	}
	return t.outcome(), nil
}
