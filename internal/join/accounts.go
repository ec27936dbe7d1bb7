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

// putAccounts creates the two service accounts and grants the rights that they need in fairlead-system.
//
// If the wrong side may hold tokens of the collector's account, putAccounts deletes the account and creates it again. It
// deletes the account before it changes the host's Role, and creates it after that. So the host cannot use its earlier
// rights to request a token of the new account. If a join is killed in between, the next join finds no old account to keep.
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

// dropCollectorAccount deletes the collector's account if the wrong side may hold its tokens: the host, although the
// collector runs elsewhere, or the reverse. The join then makes the account again, so that the API server refuses
// every earlier token of the collector. It also deletes an account whose owner is an earlier host account: the
// garbage collector is about to delete that.
//
// A collector on the member is deleted with the account, and before it: otherwise its pods would continue with tokens that no
// API server accepts.
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
	if isOwned && hasTokens(p.collector, holds, may, deployed) {
		return Unchanged, nil
	}
	if err := p.dropMemberCollector(ctx); err != nil {
		return "", err
	}
	return p.member.remove(ctx, account)
}

// hasTokens reports whether only the side that runs the collector in this mode can have tokens of the collector's account. The host has
// them if it holds one or may create one. The pods of a Deployment on the member have them. If neither is so, only an administrator can.
func hasTokens(mode v1alpha1.CollectorMode, hostHolds, hostMay, deployed bool) bool {
	switch mode {
	case v1alpha1.CollectorHost:
		return hostHolds && !deployed
	case v1alpha1.CollectorMember:
		return !hostHolds && !hostMay && deployed
	default:
		return !hostHolds && !hostMay && !deployed
	}
}

// hostMayCreateTokens reports whether the Role of an earlier join lets the host create tokens of an account. The Secret
// at the host does not show this: it may be gone, or the host may hold tokens that it did not store.
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

// putSystemRoles grants the rights that are needed in fairlead-system. Roles and bindings belong to the service
// account, and are deleted with it.
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
