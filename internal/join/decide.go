// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// decide chooses grants, collector mode, namespace policy and the settings of the collector. A setting that the options
// leave empty gets the value of an earlier join, or else the default.
func (j *joiner) decide(ctx context.Context, f found) (plan, error) {
	p := plan{name: j.opts.Name, labels: j.opts.Labels, found: f}
	allow := j.opts.Allow
	if len(allow) == 0 {
		allow = f.membership.Spec.Grants
	}
	if len(allow) == 0 {
		allow = permissions.DefaultGrants()
	}
	var err error
	if p.grants, err = permissions.ParseGrants(allow); err != nil {
		return p, fmt.Errorf("deciding on the grants: %w", err)
	}
	p.collector = memberinstall.Collector{
		Mode:    cmp.Or(j.opts.Collector, f.known.Spec.Collector, f.defaultCollector()),
		Earlier: f.known.Spec.Collector, OwnMember: f.isOwnMember(),
	}
	var note string
	if p.namespaces, note = f.decideNamespaces(j.opts.Name, j.opts.Namespaces); note != "" {
		j.Steps.Note("%s", note)
	}
	if p.grants, err = j.keepFormer(ctx, p.grants); err != nil {
		return p, err
	}
	return p, p.collector.Settle(ctx, j.Member, j.opts.Name, j.opts.MemberCollector, f.manager)
}

// defaultCollector returns where the collector of a new member runs. If the manager is a Deployment, the collector runs on the member.
// If not, it runs in the manager, because the join has no Deployment from which it could derive the collector's image.
func (f found) defaultCollector() v1alpha1.CollectorMode {
	if f.manager != nil {
		return v1alpha1.CollectorMember
	}
	return v1alpha1.CollectorHost
}

// decideNamespaces chooses the namespace policy of the member with this name. The argument given is the user's flag. The
// result note is a remark for the user; "" for none. A member keeps the policy of its last join, which the Membership
// records, until a user joins it again with another --namespaces. While the Membership has a policy, decideNamespaces
// ignores spec.namespacePolicy of the MemberCluster: a user who can write MemberClusters at the host may have no rights on
// the member.
func (f found) decideNamespaces(name string, given v1alpha1.NamespacePolicy) (policy v1alpha1.NamespacePolicy, note string) {
	known := f.known.Spec.NamespacePolicy
	var enforced v1alpha1.NamespacePolicy
	if !f.isAnothers() {
		enforced = f.membership.Spec.NamespacePolicy
	}
	switch {
	case given != "":
		return given, ""
	case enforced != "" && (known == "" || known == enforced):
		return enforced, ""
	case enforced != "":
		return enforced, fmt.Sprintf("MemberCluster %s says namespacePolicy %s, but the last join set %s, which stays: `hostctl join %s --cluster-kubeconfig FILE --namespaces %s` would change it",
			name, known, enforced, name, known)
	case known == v1alpha1.NamespacesAll && (f.membership.Spec.Host.UID == "" || f.isAnothers()):
		return v1alpha1.NamespacesManaged, fmt.Sprintf("MemberCluster %s says namespacePolicy All, but no join of this host has set it on the member, so the policy is Managed: "+
			"`hostctl join %s --cluster-kubeconfig FILE --namespaces All` would change it", name, name)
	case known == v1alpha1.NamespacesAll: // an earlier version joined the member, and installed no admission policy
		return known, fmt.Sprintf("MemberCluster %s says namespacePolicy All, so the member's admission policy opens every namespace but kube-* and %s; "+
			"`hostctl join %s --cluster-kubeconfig FILE --namespaces Managed` would close them", name, v1alpha1.SystemNamespace, name)
	}
	return v1alpha1.NamespacesManaged, ""
}

// keepFormer finds former rights: a profile of this join included them in an earlier version and does not include them
// today, and the member's ClusterRoles still give them to the host. Without --allow, keepFormer adds grants that include
// these rights, and tells the user: if the join took the rights away, pushes that need them would fail. With --allow,
// keepFormer leaves the grants unchanged, and tells the user which rights the host loses.
func (j *joiner) keepFormer(ctx context.Context, grants []string) ([]string, error) {
	var more, held []string
	for _, f := range permissions.Formers() {
		if !slices.Contains(grants, f.Profile) {
			continue
		}
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: permissions.RoleOf(f.Profile)}}
		err := j.Member.Get(ctx, role)
		if errors.Is(err, cluster.ErrAbsent) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading what %s grants the host: %w", j.Member.Name, err)
		}
		if slices.ContainsFunc(role.Rules, f.IsIn) {
			held = append(held, f.String())
			more = append(more, f.Keep...)
		}
	}
	more = slices.DeleteFunc(more, func(grant string) bool { return slices.Contains(grants, grant) })
	switch {
	case len(more) == 0:
		return grants, nil
	case len(j.opts.Allow) > 0:
		j.Steps.Note("%s: since its last join the profiles have become smaller. The host can no longer write %s there; to keep these rights, add %s to --allow",
			j.Member.Name, list(held), list(more))
		return grants, nil
	}
	kept, err := permissions.ParseGrants(slices.Concat(grants, more))
	if err != nil {
		return nil, fmt.Errorf("adding the grants %s, so that the host keeps rights that an earlier version gave it on %s: %w", list(more), j.Member.Name, err)
	}
	j.Steps.Note("%s: the host has rights there that its profiles no longer include: %s. The join keeps them by adding the grants %s. To remove them, run "+
		"`hostctl join %s --cluster-kubeconfig FILE --allow %s`",
		j.Member.Name, list(held), list(more), j.opts.Name, strings.Join(grants, ","))
	return kept, nil
}

func list(words []string) string { return strings.Join(words, ", ") }
