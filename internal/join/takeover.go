// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// Takeover has the facts that hostctl shows to the user, before the user confirms or refuses a takeover.
type Takeover struct {
	// Endpoint is the address at which the join found the cluster.
	Endpoint string
	// Owner is the member's Membership spec: it names the present host, and the member's name at that host.
	Owner v1alpha1.MembershipSpec
	// Since is the time at which the cluster became a member.
	Since time.Time
	// Heartbeat is the last heartbeat of the member's collector, by the collector's clock; zero if there was none.
	Heartbeat time.Time
	// Deliveries is the number of Deliveries of wrappers on the member. The present host wrote them.
	Deliveries int
	// Host is the new host of the member. It gets Grants.
	Host   v1alpha1.HostIdentity
	Grants []string
}

// takeOver takes the cluster from its present host, the old host, after the user has confirmed it:
//
//  1. It deletes the old host's bindings, and then its accounts. This makes the old tokens invalid.
//  2. It waits for the member's API servers to forget the old tokens. Until then an API server may accept an old token.
//     This join later creates an account of the same name, and the old token would have the rights of that account. Without
//     the wait both hosts could write.
//  3. It writes this host into the Membership. From now on a join by the old host is refused.
//  4. A join by the old host may have created the accounts again before step 3. takeOver deletes them once more, and waits
//     again.
//
// Later steps of the join create this host's account. If the join is killed before step 3, the Membership still names the
// old host, and another takeover completes the join. If it is killed later, any join by this host completes it.
//
// takeOver returns the plan for the rest of the join.
func (j *joiner) takeOver(ctx context.Context, p plan) (plan, error) {
	switch {
	case !j.opts.TakeOver:
		return p, nil
	case !p.found.isAnothers():
		j.Steps.Note("%s belongs to no other host: --take-over has nothing to take", j.Member.Name)
		return p, nil
	}
	p.from = p.found.membership.Spec.Host
	// Every check that can refuse the join has to run before the join removes anything. For example, the user may lack
	// rights, or the host may have a Secret of the member's name that holds other credentials.
	if err := p.rehearse(ctx, j.Pair, j.now); err != nil {
		return p, err
	}
	facts, err := readTakeover(ctx, j.Member, p)
	if err != nil {
		return p, err
	}
	if j.opts.Confirm != nil {
		if err := j.opts.Confirm(facts); err != nil {
			return p, err
		}
	}
	if err := j.replaceHost(ctx, p); err != nil {
		return p, fmt.Errorf("taking the cluster over from host %q: %w", p.from.Name, err)
	}
	// From here on the Membership names this host, except in a dry run.
	if p.taken = true; !j.opts.DryRun {
		p.from = v1alpha1.HostIdentity{}
	}
	return p, nil
}

// readTakeover collects the facts for the user. It counts the Deliveries on the member.
func readTakeover(ctx context.Context, member cluster.Cluster, p plan) (Takeover, error) {
	membership := p.found.membership
	t := Takeover{
		Endpoint: member.Config.Host, Owner: membership.Spec, Since: membership.CreationTimestamp.Time,
		Heartbeat: membership.Status.RenewTime.Time, Host: p.found.identity, Grants: p.grants,
	}
	deliveries := &metav1.PartialObjectMetadataList{}
	deliveries.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeliveryList"))
	if err := member.Client.List(ctx, deliveries, client.InNamespace(v1alpha1.SystemNamespace)); err != nil && !cluster.Absent(err) {
		return t, fmt.Errorf("counting the Deliveries on %s: %w", member.Name, err)
	}
	for i := range deliveries.Items {
		if deliveries.Items[i].Name != marks.SharedIntents {
			t.Deliveries++
		}
	}
	return t, nil
}

// replaceHost runs the steps of a takeover that write.
func (j *joiner) replaceHost(ctx context.Context, p plan) error {
	if err := checkOwner(ctx, j.Member, p.from.UID); err != nil {
		return err
	}
	memory := cmp.Or(j.opts.tokenMemory, memberinstall.TokenMemory)
	if err := memberinstall.Revoke(ctx, j.Pair, p.collector, p.from.Name); err != nil {
		return err
	}
	if err := memberinstall.AwaitForgotten(ctx, j.Pair, memory, "the join stopped before it wrote the Membership. Run the same command again to continue"); err != nil {
		return err
	}
	if err := memberinstall.ClearMembershipStatus(ctx, j.Member); err != nil {
		return err
	}
	if err := p.own(ctx, j.Pair); err != nil || j.opts.DryRun {
		return err
	}
	again, err := memberinstall.RevokeAgain(ctx, j.Pair, p.collector, p.from.Name)
	if err != nil || !again {
		return err
	}
	return memberinstall.AwaitForgotten(ctx, j.Pair, memory, "the join stopped before this host had an account. Run the same command again to continue")
}

// checkOwner reads the Membership again, because the user may have taken long to confirm. It returns an error if the
// cluster no longer belongs to the host about which the user was asked. The argument owner is the uid of that host.
func checkOwner(ctx context.Context, member cluster.Cluster, owner types.UID) error {
	now := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := member.Get(ctx, now)
	switch {
	case errors.Is(err, cluster.ErrAbsent):
		return fmt.Errorf("%s has no Membership any more, so it belongs to no host now: run the join again", member.Name)
	case err != nil:
		return fmt.Errorf("reading the Membership of %s: %w", member.Name, err)
	}
	if plain.Membership(now); now.Spec.Host.UID != owner {
		return &NotOursError{Owner: now.Spec}
	}
	return nil
}
