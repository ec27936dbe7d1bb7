// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/plain"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// install creates or updates the objects on the member that the host needs there.
func (p *joiner) install(ctx context.Context) error {
	for _, step := range []func(context.Context) error{p.putNamespace, p.putCRDs, p.putAccounts, p.putRoles, p.markMade, p.putPolicy, p.dropRoles} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *joiner) putNamespace(ctx context.Context) error {
	_, outcome, err := put(ctx, p.member, systemNamespace(), func(ns *corev1.Namespace) {
		// If the host joins itself, the namespace is the host's own. Without LabelMade on it, an unjoin will not delete the
		// namespace.
		if ns.UID == "" && p.memberUID != p.identity.UID {
			ns.Labels = map[string]string{v1alpha1.LabelMade: "true"}
		}
	})
	if err != nil {
		return err
	}
	p.done(outcome, p.member.cluster+": namespace "+v1alpha1.SystemNamespace, "")
	return nil
}

func (p *joiner) putCRDs(ctx context.Context) error {
	var t tally
	for _, name := range MemberCRDs() {
		outcome, newer, err := p.member.putCRD(ctx, name)
		if err != nil {
			return err
		}
		if newer != "" {
			p.note("%s: CRD %s stays as it is: a newer hostctl (%s) applied it, and this one is %s", p.member.cluster, name, newer, version.String())
		}
		t.add(outcome)
	}
	p.done(t.outcome(), p.member.cluster+": CRDs deliveries, memberships", "")
	return nil
}

// putRoles grants both accounts their rights at cluster scope. The first ClusterRole owns all others, so the member's garbage
// collector deletes them together with the first.
func (p *joiner) putRoles(ctx context.Context) error {
	served, err := p.served()
	if err != nil {
		return err
	}
	var t tally
	var base *rbacv1.ClusterRole
	p.roleObjects = nil
	for _, r := range p.roles(served) {
		have, outcome, err := put(ctx, p.member, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.name}}, func(have *rbacv1.ClusterRole) {
			r.fill(have)
			if base != nil {
				belongTo(have, base)
			}
		})
		if err != nil {
			return explainGrant(err, p.member.cluster)
		}
		t.add(outcome)
		if base == nil {
			base = have
		}
		p.roleObjects = append(p.roleObjects, have)
		_, outcome, err = put(ctx, p.member, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: r.name}}, func(have *rbacv1.ClusterRoleBinding) {
			have.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.name}
			have.Subjects = subjects(r.account)
			belongTo(have, base)
		})
		if err != nil {
			return explainGrant(err, p.member.cluster)
		}
		t.add(outcome)
	}
	p.done(t.outcome(), p.member.cluster+": cluster roles for "+list(p.grants), "")
	return nil
}

// dropRoles removes the ClusterRoles of grants that an earlier join had and this join does not have.
func (p *joiner) dropRoles(ctx context.Context) error {
	wanted := make(map[string]bool)
	for _, grant := range p.grants {
		wanted[roleOf(grant)] = true
	}
	for _, name := range grantRoles() {
		if wanted[name] {
			continue
		}
		var t tally
		for _, obj := range []client.Object{
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}},
		} {
			outcome, err := p.member.remove(ctx, obj)
			if err != nil {
				return err
			}
			t.add(outcome)
		}
		if t.removed > 0 {
			p.done(Removed, p.member.cluster+": cluster role "+name, "--allow no longer includes it")
		}
	}
	return nil
}

// served reads which API groups and which core resources the member serves. CollectorReads needs them for grants that
// include all groups or the whole core group.
func (p *joiner) served() (Served, error) {
	d, err := discoveryclient.NewDiscoveryClientForConfig(p.memberConfig)
	if err != nil {
		return Served{}, fmt.Errorf("connecting to %s: %w", p.member.cluster, err)
	}
	groups, err := d.ServerGroups()
	if err != nil {
		return Served{}, fmt.Errorf("asking %s for its API groups: %w", p.member.cluster, err)
	}
	s := Served{Groups: []string{v1alpha1.Group}} // discovery may not list Fairlead's own group yet, if this join has just created its CRDs
	for _, g := range groups.Groups {
		if g.Name != "" {
			s.Groups = append(s.Groups, g.Name)
		}
	}
	core, err := d.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return Served{}, fmt.Errorf("asking %s for its resources: %w", p.member.cluster, err)
	}
	for _, r := range core.APIResources {
		if slices.Contains(r.Verbs, "list") {
			s.Core = append(s.Core, r.Name)
		}
	}
	return s, nil
}

// own writes the Membership, which names this host as the host of the member. An ordinary join calls own after it has
// created the host's account, so that the host named in a Membership has an account. A takeover calls own earlier: from
// then on a join by the old host is refused, and only afterwards this join creates its account.
func (p *joiner) own(ctx context.Context) error {
	var other *v1alpha1.HostIdentity
	_, outcome, err := put(ctx, p.member, &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}, func(m *v1alpha1.Membership) {
		other = nil
		if uid := plain.UID(m.Spec.Host.UID); uid != "" && uid != p.identity.UID && uid != p.from.UID {
			other = m.Spec.Host.DeepCopy()
			return
		}
		m.Spec = v1alpha1.MembershipSpec{Host: p.identity, ClusterName: p.opts.Name, Grants: p.grants, NamespacePolicy: p.namespaces}
	})
	if err != nil {
		return err
	}
	if other != nil {
		return fmt.Errorf("writing the Membership of %s: another host, %q (uid %s), has joined this cluster meanwhile", p.member.cluster, other.Name, other.UID)
	}
	if p.taken && outcome == Unchanged {
		return nil // takeOver has already reported the change of the Membership
	}
	p.done(outcome, fmt.Sprintf("%s: Membership of %s as %s", p.member.cluster, p.identity.Name, p.opts.Name), "")
	return nil
}

func systemNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
}

func serviceAccount(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
}

// belongTo makes the owners own obj, so that the member's garbage collector removes obj after the last owner. It skips an
// owner without a uid: in a dry run the API server gives a new object no uid.
func belongTo(obj client.Object, owners ...client.Object) {
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		ref := metav1.OwnerReference{Name: owner.GetName(), UID: owner.GetUID()}
		switch owner.(type) {
		case *corev1.ServiceAccount:
			ref.APIVersion, ref.Kind = "v1", "ServiceAccount"
		case *rbacv1.ClusterRole:
			ref.APIVersion, ref.Kind = rbacv1.SchemeGroupVersion.String(), "ClusterRole"
		}
		if ref.UID != "" {
			refs = append(refs, ref)
		}
	}
	if len(refs) > 0 {
		obj.SetOwnerReferences(refs)
	}
}

// when formats a time for messages, in UTC.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
