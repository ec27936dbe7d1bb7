// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// Installation says which objects a join installs on a member.
type Installation struct {
	// Name is the name of the MemberCluster, and of the Secret at the host.
	Name string
	// Grants are the rights that the member gives the host.
	Grants []string
	// Namespaces decides which namespaces the admission policy opens to the host.
	Namespaces v1alpha1.NamespacePolicy
	// EarlierNamespaces is the policy that an earlier join recorded in the Membership; "" if none did.
	EarlierNamespaces v1alpha1.NamespacePolicy
	// Collector is the collector of the member.
	Collector Collector
}

// Run creates or updates the objects on the member that the host needs there. It returns the two accounts.
func (i Installation) Run(ctx context.Context, p cluster.Pair) (tokens.Accounts, error) {
	if err := putNamespace(ctx, p, i.Collector.OwnMember); err != nil {
		return tokens.Accounts{}, err
	}
	if err := putCRDs(ctx, p); err != nil {
		return tokens.Accounts{}, err
	}
	accounts, err := i.putAccounts(ctx, p)
	if err != nil {
		return tokens.Accounts{}, err
	}
	roles, err := putRoles(ctx, p, i.Grants)
	if err != nil {
		return tokens.Accounts{}, err
	}
	// If an earlier join recorded a policy, that join labelled the namespaces. Labelling again would also open every namespace on
	// which the host has put the same marks since then.
	if i.EarlierNamespaces == "" {
		if err := markMade(ctx, p); err != nil {
			return tokens.Accounts{}, err
		}
	}
	if err := putPolicy(ctx, p, i.Namespaces, i.Collector.Mode, roles); err != nil {
		return tokens.Accounts{}, err
	}
	return accounts, dropRoles(ctx, p, i.Grants)
}

// putNamespace creates the namespace fairlead-system. If the host joins itself (ownMember), the namespace is the host's
// own. Then putNamespace does not set LabelMade, so that an unjoin does not delete the namespace.
func putNamespace(ctx context.Context, p cluster.Pair, ownMember bool) error {
	_, outcome, err := cluster.Put(ctx, p.Member, cluster.SystemNamespace(), func(ns *corev1.Namespace) {
		if ns.UID == "" && !ownMember {
			ns.Labels = map[string]string{v1alpha1.LabelMade: "true"}
		}
	})
	if err != nil {
		return err
	}
	p.Steps.Done(outcome, p.Member.Name+": namespace "+v1alpha1.SystemNamespace, "")
	return nil
}

func putCRDs(ctx context.Context, p cluster.Pair) error {
	var t steps.Tally
	for _, name := range permissions.MemberCRDs() {
		outcome, newer, err := putCRD(ctx, p.Member, name)
		if err != nil {
			return err
		}
		if newer != "" {
			p.Steps.Note("%s: CRD %s stays as it is: a newer hostctl (%s) applied it, and this one is %s", p.Member.Name, name, newer, version.String())
		}
		t.Add(outcome)
	}
	p.Steps.Done(t.Outcome(), p.Member.Name+": CRDs deliveries, memberships", "")
	return nil
}
