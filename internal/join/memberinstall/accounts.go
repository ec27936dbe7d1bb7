// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
)

// NewCollectorToken tells the user how to make credentials for a collector that runs elsewhere (collector: External).
const NewCollectorToken = "Create a token for the collector, with the kubeconfig of the member: `kubectl create token " + permissions.CollectorAccount + " --namespace " +
	v1alpha1.SystemNamespace + " --duration=8760h`. Put it into the collector's kubeconfig (--kubeconfig), which the collector reads at its start."

// putAccounts creates the host's account and the collector's account, and grants them their rights in fairlead-system. The
// order matters:
//
//  1. dropCollectorAccount deletes the collector's account if someone who must not have tokens of this account possibly
//     has some (see mayKeepAccount).
//  2. putSystemRoles withdraws the host's right to create tokens of the collector's account, unless the collector runs
//     inside the manager.
//  3. putAccounts creates the collector's account again. The host cannot get a token of the new account with its earlier
//     rights.
//
// If a join is killed after step 1, the next join finds no collector's account, and creates it.
func (i Installation) putAccounts(ctx context.Context, p cluster.Pair) (tokens.Accounts, error) {
	var t steps.Tally
	account, outcome, err := cluster.Put(ctx, p.Member, cluster.ServiceAccount(permissions.HostAccount), func(*corev1.ServiceAccount) {})
	if err != nil {
		return tokens.Accounts{}, err
	}
	t.Add(outcome)
	outcome, err = i.dropCollectorAccount(ctx, p, account)
	if err != nil {
		return tokens.Accounts{}, err
	}
	t.Add(outcome)
	roles, err := putSystemRoles(ctx, p.Member, i.Collector.Mode, account)
	if err != nil {
		return tokens.Accounts{}, err
	}
	collectorAccount, outcome, err := cluster.Put(ctx, p.Member, cluster.ServiceAccount(permissions.CollectorAccount), func(sa *corev1.ServiceAccount) { cluster.BelongTo(sa, account) })
	if err != nil {
		return tokens.Accounts{}, err
	}
	t.Add(outcome)
	p.Steps.Done(t.Outcome(), p.Member.Name+": account "+permissions.HostAccount+", "+permissions.CollectorAccount, "")
	if i.Collector.Mode == v1alpha1.CollectorExternal && outcome == steps.Created && !p.Member.DryRun {
		p.Steps.Note("the collector's account on %s is new, and the member's API server refuses the tokens of the earlier account. %s", p.Member.Name, NewCollectorToken)
	}
	p.Steps.Done(roles, p.Member.Name+": roles in "+v1alpha1.SystemNamespace, "")
	return tokens.Accounts{Host: account, Collector: collectorAccount}, nil
}

// dropCollectorAccount deletes the collector's account in two cases. The API server then refuses all tokens of the account.
// putAccounts creates it again.
//
//   - mayKeepAccount returns false. For example, the host ran the collector and has a token, and this join moves the
//     collector to the member.
//   - The host's present account does not own the collector's account. Usually the owner is an earlier account of the host,
//     which no longer exists, so the member's garbage collector is about to delete the collector's account.
//
// dropCollectorAccount deletes the collector's Deployment on the member first. Otherwise the Deployment's pods would
// continue with tokens that the API server refuses.
func (i Installation) dropCollectorAccount(ctx context.Context, p cluster.Pair, hostAccount *corev1.ServiceAccount) (steps.Outcome, error) {
	present, err := i.Collector.present(ctx, p.Member)
	if err != nil {
		return "", err
	}
	account := cluster.ServiceAccount(permissions.CollectorAccount)
	if err := p.Member.Get(ctx, account); errors.Is(err, cluster.ErrAbsent) {
		return steps.Unchanged, nil
	} else if err != nil {
		return "", fmt.Errorf("reading %s on %s: %w", cluster.Describe(account), p.Member.Name, err)
	}
	secret, err := tokens.ReadHostSecret(ctx, p.Host, i.Name)
	if err != nil {
		return "", err
	}
	holds := false
	if secret != nil {
		had, err := tokens.Read(string(secret.Data[v1alpha1.SecretCollectorToken]))
		holds = err == nil && had.Account == account.UID
	}
	isOwned := slices.ContainsFunc(account.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == hostAccount.UID })
	may, err := hostMayCreateTokens(ctx, p.Member, permissions.CollectorAccount)
	if err != nil {
		return "", err
	}
	deployed := present != nil && membercollector.IsOurs(present)
	if isOwned && mayKeepAccount(i.Collector.Mode, holds, may, deployed) {
		return steps.Unchanged, nil
	}
	if err := i.Collector.drop(ctx, p); err != nil {
		return "", err
	}
	return p.Member.Remove(ctx, account)
}

// mayKeepAccount reports whether the collector's account can stay. The party that runs the collector in this mode must have
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
// an account. The Secret at the host does not prove that the host has no token. The host can store a token elsewhere, and a
// person can delete the Secret.
func hostMayCreateTokens(ctx context.Context, member cluster.Cluster, account string) (bool, error) {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}}
	if err := member.Get(ctx, role); errors.Is(err, cluster.ErrAbsent) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("reading %s on %s: %w", cluster.Describe(role), member.Name, err)
	}
	return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "serviceaccounts/token") && slices.Contains(r.ResourceNames, account)
	}), nil
}
