// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
)

// plan is everything that a join has decided before its first write. The method write carries out the plan. A takeover
// and a rotation call write twice, first as a dry run.
type plan struct {
	name   string
	labels map[string]string // the labels that the user gave for the MemberCluster
	found  found

	grants     []string
	namespaces v1alpha1.NamespacePolicy
	collector  memberinstall.Collector

	// from is the host from which takeOver takes the cluster. It is empty in any other join, and again after the takeover,
	// when the Membership names this host. In a dry run the Membership still names the old host, so from stays set.
	from v1alpha1.HostIdentity
	// taken is true once takeOver has finished.
	taken bool
}

// written has the results of the method write that later steps of the join need.
type written struct {
	accounts tokens.Accounts
	// tokenExpires is the time at which the host's token expires; zero if a dry run would request a new token.
	tokenExpires time.Time
	registered   *v1alpha1.MemberCluster
}

// write installs everything on the member, exchanges the tokens and registers the member at the host. The host gets its
// token only after the member enforces the admission policy. It gets the MemberCluster only after the token, so that the
// manager never reads a MemberCluster without credentials.
func (p plan) write(ctx context.Context, pair cluster.Pair, now func() time.Time) (written, error) {
	var w written
	var err error
	installation := memberinstall.Installation{Name: p.name, Grants: p.grants, Namespaces: p.namespaces,
		EarlierNamespaces: p.found.membership.Spec.NamespacePolicy, Collector: p.collector}
	if w.accounts, err = installation.Run(ctx, pair); err != nil {
		return w, err
	}
	if err := p.own(ctx, pair); err != nil {
		return w, err
	}
	if err := p.collector.Put(ctx, pair, w.accounts.Collector); err != nil {
		return w, err
	}
	if w.tokenExpires, err = p.exchange(pair, now).Run(ctx, w.accounts); err != nil {
		return w, err
	}
	w.registered, err = p.register(ctx, pair)
	return w, err
}

// rehearse runs write as a dry run, so that a refusal comes before the join removes anything.
func (p plan) rehearse(ctx context.Context, pair cluster.Pair, now func() time.Time) error {
	_, err := p.write(ctx, pair.Rehearsal(), now)
	return err
}

// own writes the Membership, which names this host as the host of the member. An ordinary join calls own after it has
// created the host's account, so that the host named in a Membership has an account. A takeover calls own earlier: from
// then on a join by the old host is refused. Only afterwards the takeover creates the account of the new host.
func (p plan) own(ctx context.Context, pair cluster.Pair) error {
	host := p.found.identity
	spec := v1alpha1.MembershipSpec{Host: host, ClusterName: p.name, Grants: p.grants, NamespacePolicy: p.namespaces}
	outcome, err := memberinstall.PutMembership(ctx, pair.Member, spec, p.from.UID)
	if err != nil {
		return err
	}
	if p.taken && outcome == steps.Unchanged {
		return nil // takeOver has already reported the change of the Membership
	}
	pair.Steps.Done(outcome, fmt.Sprintf("%s: Membership of %s as %s", pair.Member.Name, host.Name, p.name), "")
	return nil
}

// exchange prepares the step in which this join keeps or requests the host's tokens and stores them at the host.
func (p plan) exchange(pair cluster.Pair, now func() time.Time) tokens.Exchange {
	a := p.found.address
	return tokens.Exchange{
		Host: pair.Host, Member: pair.Member, Steps: pair.Steps, Now: now, Collector: p.collector.Mode,
		Binding: credentials.Binding{Cluster: p.name, Endpoint: a.endpoint, CA: a.ca, TLSServerName: a.tlsServerName, ProxyURL: a.proxyURL},
		BeforeStore: func(ctx context.Context, hostToken string) error {
			if err := memberinstall.AwaitEnforced(ctx, pair.Member, p.namespaces, p.collector.Mode, hostToken); err != nil {
				return err
			}
			return putHostNamespace(ctx, pair)
		},
	}
}
