// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// tokenMemory bounds how long an API server may accept a token after its account is gone: 10 s (kube-apiserver's
// cache of accepted tokens, which no flag changes), and a little for its watch of accounts.
const tokenMemory = 12 * time.Second

// Takeover tells a person about a member before the join takes it from its present host.
type Takeover struct {
	// Endpoint is the address at which the join found the cluster.
	Endpoint string
	// Owner is the present host, and the member's name there.
	Owner v1alpha1.MembershipSpec
	// Since is when the cluster became a member. Heartbeat is the last heartbeat of its collector, by the collector's
	// clock; zero if there was none.
	Since, Heartbeat time.Time
	// Deliveries is the number of the present host's Deliveries there.
	Deliveries int
	// Host is the new host of the member. It gets Grants.
	Host   v1alpha1.HostIdentity
	Grants []string
}

// isAnothers reports whether the cluster belongs to another host.
func (p *joiner) isAnothers() bool {
	owner := p.membership.Spec.Host.UID
	return owner != "" && owner != p.identity.UID
}

// takeOver takes the cluster from its present host, once a person has confirmed it. The steps that follow give this
// host its access.
//
// At no moment can both hosts write. takeOver deletes the old host's bindings first, then its accounts, and with them
// all their tokens. Roles bind accounts by name, and the new account has the old one's name. So the join creates it
// only when no API server can accept the old account any more. The Membership changes in between. Killed before that,
// the cluster still belongs to the old host, whose account is gone; another take-over completes it. Killed after it,
// any join of this host completes it. A join of the old host that runs at the same time may make an account and get a
// token until the Membership changes, so takeOver revokes once more after that. Later such a join finds that the
// Membership belongs to another host, and gets no token.
func (p *joiner) takeOver(ctx context.Context) error {
	switch {
	case !p.opts.TakeOver:
		return nil
	case !p.isAnothers():
		p.note("%s belongs to no other host: --take-over has nothing to take", p.member.cluster)
		return nil
	}
	p.from = p.membership.Spec.Host
	// Everything that can be refused is refused before the join removes anything: rights that the person lacks, a
	// Secret in the way.
	if err := p.rehearse(ctx); err != nil {
		return err
	}
	plan, err := p.takeover(ctx)
	if err != nil {
		return err
	}
	if p.opts.Confirm != nil {
		if err := p.opts.Confirm(plan); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{p.stillTheirs, p.revokeTheirs, p.clearMembershipStatus, p.own, p.revokeLate} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("taking it over from host %q: %w", p.from.Name, err)
		}
	}
	// From here on that host is an ordinary other host; only in a dry run does the Membership still name it.
	if p.taken = true; !p.opts.DryRun {
		p.from = v1alpha1.HostIdentity{}
	}
	return nil
}

// rehearse runs the following steps as a dry run.
func (p *joiner) rehearse(ctx context.Context) error {
	q := *p
	q.opts.DryRun, q.member.dry, q.host.dry = true, true, true
	q.report = func(Step) {}
	for _, step := range []func(context.Context) error{q.install, q.own, q.putCollector, q.exchangeTokens, q.putMemberCluster} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *joiner) takeover(ctx context.Context) (Takeover, error) {
	t := Takeover{
		Endpoint: p.memberConfig.Host, Owner: p.membership.Spec, Since: p.membership.CreationTimestamp.Time,
		Heartbeat: p.membership.Status.RenewTime.Time, Host: p.identity, Grants: p.grants,
	}
	deliveries := &metav1.PartialObjectMetadataList{}
	deliveries.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeliveryList"))
	if err := p.member.client.List(ctx, deliveries, client.InNamespace(v1alpha1.SystemNamespace)); err != nil && !absent(err) {
		return t, fmt.Errorf("counting the Deliveries on %s: %w", p.member.cluster, err)
	}
	t.Deliveries = len(deliveries.Items)
	return t, nil
}

// stillTheirs checks again that the cluster belongs to the same host: the person may have taken long to confirm.
func (p *joiner) stillTheirs(ctx context.Context) error {
	now := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := p.member.get(ctx, now)
	switch {
	case errors.Is(err, errAbsent):
		return fmt.Errorf("%s has no Membership any more, so no host owns it: run the join again", p.member.cluster)
	case err != nil:
		return fmt.Errorf("reading the Membership of %s: %w", p.member.cluster, err)
	}
	if plain.Membership(now); now.Spec.Host.UID != p.from.UID {
		return &NotOursError{Owner: now.Spec}
	}
	return nil
}

func (p *joiner) revokeTheirs(ctx context.Context) error {
	if err := p.revoke(ctx, p.from.Name); err != nil {
		return err
	}
	return p.awaitForgotten(ctx, "the join stopped before it wrote the Membership. Run the same command again to continue")
}

// revokeLate revokes an account that a join of the old host made before the Membership named this host.
func (p *joiner) revokeLate(ctx context.Context) error {
	if p.opts.DryRun {
		return nil
	}
	removed, _, err := p.removeAccounts(ctx)
	if err != nil || removed == 0 {
		return err
	}
	p.done(Removed, fmt.Sprintf("%s: account of host %s, its tokens and bindings", p.member.cluster, p.from.Name), "a join of that host had made it again")
	return p.awaitForgotten(ctx, "the join stopped before this host had an account. Run the same command again to continue")
}

// revoke removes the bindings and accounts of a host and of its collector.
func (p *joiner) revoke(ctx context.Context, host string) error {
	removed, others, err := p.removeAccounts(ctx)
	if err != nil {
		return err
	}
	outcome := Unchanged
	if removed > 0 {
		outcome = Removed
	}
	p.done(outcome, fmt.Sprintf("%s: account of host %s, its tokens and bindings", p.member.cluster, host), "")
	if len(others) > 0 {
		p.note("%s: these role bindings name the host's account and no join created them; this host gets their rights too: %s", p.member.cluster, list(others))
	}
	return nil
}

// removeAccounts removes the accounts that joins create, their bindings first. ClusterRoles stay without any subject; this
// join corrects them. Everything that belongs to the account is deleted by name before the account. So the garbage
// collector has no work left that could remove objects of this join. others are the names of all other bindings.
func (p *joiner) removeAccounts(ctx context.Context) (removed int, others []string, err error) {
	bindings, others, err := p.bindings(ctx)
	if err != nil {
		return 0, nil, err
	}
	if err := p.dropMemberCollector(ctx); err != nil {
		return 0, nil, err
	}
	var t tally
	for _, obj := range slices.Concat(bindings, []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: HostAccount}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: CollectorAccount}},
		serviceAccount(CollectorAccount),
		serviceAccount(HostAccount),
	}) {
		outcome, err := p.member.remove(ctx, obj)
		if err != nil {
			return 0, nil, err
		}
		t.add(outcome)
	}
	return t.removed, others, nil
}

// bindings are the bindings of the accounts that joins created; others are the names of all other bindings of them.
func (p *joiner) bindings(ctx context.Context) (made []client.Object, others []string, err error) {
	var clusterWide rbacv1.ClusterRoleBindingList
	var namespaced rbacv1.RoleBindingList
	for _, l := range []client.ObjectList{&clusterWide, &namespaced} {
		if err := p.member.client.List(ctx, l); err != nil {
			return nil, nil, fmt.Errorf("listing the role bindings on %s: %w", p.member.cluster, err)
		}
	}
	sort := func(obj client.Object, subjects []rbacv1.Subject) {
		ours := obj.GetNamespace() == "" || obj.GetNamespace() == v1alpha1.SystemNamespace
		switch {
		case !slices.ContainsFunc(subjects, isAccount):
		case ours && (strings.HasPrefix(obj.GetName(), HostAccount) || strings.HasPrefix(obj.GetName(), CollectorAccount)):
			made = append(made, obj)
		default:
			others = append(others, describe(obj))
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

// isAccount reports whether a subject is one of the accounts that joins make.
func isAccount(s rbacv1.Subject) bool {
	return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == v1alpha1.SystemNamespace && (s.Name == HostAccount || s.Name == CollectorAccount)
}

// awaitForgotten waits until no API server of the member accepts a token of the old account any more. There may be
// several API servers, so no single one can answer that. It waits even if the account was already gone, because it
// may have been deleted a moment ago. stopped says what a person has to know if the join is stopped meanwhile.
func (p *joiner) awaitForgotten(ctx context.Context, stopped string) error {
	if p.opts.DryRun {
		return nil
	}
	memory := tokenMemory
	if p.opts.tokenMemory != 0 {
		memory = p.opts.tokenMemory
	}
	p.note("%s: for up to %s its API servers may accept the old account's tokens, so the join waits before it makes the new account", p.member.cluster, memory)
	timer := time.NewTimer(memory)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", stopped, context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}

// clearMembershipStatus clears the status that the old host's collector wrote. Otherwise the new host would take that heartbeat for
// one of its own collector.
func (p *joiner) clearMembershipStatus(ctx context.Context) error {
	if p.opts.DryRun {
		return nil
	}
	m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := p.member.client.Status().Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)), client.FieldOwner(fieldManager))
	return wrapf(err, "clearing the status of the Membership of %s", p.member.cluster)
}
