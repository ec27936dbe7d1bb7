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

// tokenMemory is the longest time for which an API server can accept a token after the token's account was deleted.
// kube-apiserver caches accepted tokens for 10 s, which no flag changes, and its watch of accounts may be 2 s late.
const tokenMemory = 12 * time.Second

// Takeover has the facts that hostctl shows to the user, before the user confirms or refuses a takeover.
type Takeover struct {
	// Endpoint is the address at which the join found the cluster.
	Endpoint string
	// Owner is the member's Membership spec: it names the present host, and the member's name at that host.
	Owner v1alpha1.MembershipSpec
	// Since is when the cluster became a member.
	Since time.Time
	// Heartbeat is the last heartbeat of the member's collector, by the collector's clock; zero if there was none.
	Heartbeat time.Time
	// Deliveries is the number of Deliveries on the member. The present host wrote them.
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

// takeOver takes the cluster from its present host, the old host, after the user has confirmed it:
//
//  1. It deletes the old host's bindings, and then its accounts. This makes the old tokens invalid.
//  2. It waits for tokenMemory. An API server may accept an old token for that long, and the old token would have the
//     rights of the account of the same name that this join creates later. Without the wait both hosts could write.
//  3. It writes this host into the Membership. From now on a join by the old host is refused.
//  4. A join by the old host may have created the accounts again before step 3. takeOver deletes them once more, and waits
//     again.
//
// Later steps of the join create this host's account. If the join is killed before step 3, the Membership still names the
// old host, and another takeover completes the join. If it is killed later, any join by this host completes it.
func (p *joiner) takeOver(ctx context.Context) error {
	switch {
	case !p.opts.TakeOver:
		return nil
	case !p.isAnothers():
		p.note("%s belongs to no other host: --take-over has nothing to take", p.member.cluster)
		return nil
	}
	p.from = p.membership.Spec.Host
	// Every check that can refuse the join has to run before the join removes anything. For example, the user may lack
	// rights, or the host may have a Secret of the member's name that holds other credentials.
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
			return fmt.Errorf("taking the cluster over from host %q: %w", p.from.Name, err)
		}
	}
	// From here on the Membership names this host. In a dry run it still names the old host, so p.from stays set.
	if p.taken = true; !p.opts.DryRun {
		p.from = v1alpha1.HostIdentity{}
	}
	return nil
}

// rehearse runs later steps of the join as a dry run, so that a refusal comes before the join removes anything.
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

// stillTheirs reads the Membership again, because the user may have taken long to confirm. It returns an error if the
// cluster no longer belongs to the host that the user was asked about.
func (p *joiner) stillTheirs(ctx context.Context) error {
	now := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := p.member.get(ctx, now)
	switch {
	case errors.Is(err, errAbsent):
		return fmt.Errorf("%s has no Membership any more, so it belongs to no host now: run the join again", p.member.cluster)
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

// revokeLate deletes the accounts once more, if a join by the old host created them again before the Membership named this
// host.
func (p *joiner) revokeLate(ctx context.Context) error {
	if p.opts.DryRun {
		return nil
	}
	removed, _, err := p.removeAccounts(ctx)
	if err != nil || removed == 0 {
		return err
	}
	p.done(Removed, fmt.Sprintf("%s: account of host %s, its tokens and bindings", p.member.cluster, p.from.Name), "a join by that host had created it again")
	return p.awaitForgotten(ctx, "the join stopped before this host had an account. Run the same command again to continue")
}

// revoke removes the host's and the collector's account with their bindings, and tells the user. The argument host is the
// name of the host in the messages.
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

// removeAccounts deletes the two accounts that joins create, after their bindings. The ClusterRoles stay: without bindings
// they give no rights, and this join corrects them. Objects that an account owns are deleted before the account. Otherwise
// the garbage collector could later delete an object of the same name that this join creates. others are the names of the
// accounts' bindings that no join created.
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

// bindings lists the RoleBindings and ClusterRoleBindings that name the host's or the collector's account. made are those
// that joins created, and others are the names of the rest.
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

// isAccount reports whether a subject is one of the two service accounts that joins create.
func isAccount(s rbacv1.Subject) bool {
	return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == v1alpha1.SystemNamespace && (s.Name == HostAccount || s.Name == CollectorAccount)
}

// awaitForgotten waits until no API server of the member can accept a token of the deleted account. It waits for a fixed
// time, because a member may have several API servers, and a test request would reach only one of them. It waits even if
// this join found no account, because another client may have deleted the account a moment ago. If the user stops the join
// during the wait, the error begins with the text in the argument stopped.
func (p *joiner) awaitForgotten(ctx context.Context, stopped string) error {
	if p.opts.DryRun {
		return nil
	}
	memory := tokenMemory
	if p.opts.tokenMemory != 0 {
		memory = p.opts.tokenMemory
	}
	p.note("%s: for up to %s the member's API servers may still accept tokens of the old account, so the join waits before it creates the new account", p.member.cluster, memory)
	timer := time.NewTimer(memory)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", stopped, context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}

// clearMembershipStatus clears the status that the old host's collector wrote. Otherwise the new host would take that
// collector's heartbeat for a heartbeat of its own collector.
func (p *joiner) clearMembershipStatus(ctx context.Context) error {
	if p.opts.DryRun {
		return nil
	}
	m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := p.member.client.Status().Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)), client.FieldOwner(fieldManager))
	return wrapf(err, "clearing the status of the Membership of %s", p.member.cluster)
}
