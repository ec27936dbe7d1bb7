// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// tokenTimeout bounds the wait until the member's API server accepts a new token. The API server's authorizer sees new
// roles a moment after the join has created them.
const tokenTimeout = 15 * time.Second

// obtain keeps or requests the host's token and, if the collector runs inside the manager, the collector's token.
func (a *attempt) obtain(ctx context.Context) (err error) {
	if a.host, err = a.obtainOne(ctx, v1alpha1.SecretToken, a.accounts.Host); err != nil {
		return err
	}
	if a.in.Collector == v1alpha1.CollectorHost {
		a.collector, err = a.obtainOne(ctx, v1alpha1.SecretCollectorToken, a.accounts.Collector)
	}
	return err
}

// obtainOne returns a token of an account. It returns the token in the Secret at the host, if that token works and is not
// due for renewal. So a repeated join writes nothing. In all other cases it requests a new token.
func (a *attempt) obtainOne(ctx context.Context, key string, account *corev1.ServiceAccount) (Credential, error) {
	why, have, err := a.keep(ctx, key, account)
	if err != nil {
		return Credential{}, err
	}
	member := a.in.Member
	what := member.Name + ": token of " + account.Name
	if why == "" {
		a.in.Steps.Done(steps.Unchanged, what, "it is valid until "+when(have.Expires))
		return have, nil
	}
	if member.DryRun {
		a.in.Steps.Done(steps.Created, what, why)
		return Credential{}, nil
	}
	got, err := issue(ctx, member.Client, account, have, a.giveUp)
	if err != nil {
		return Credential{}, fmt.Errorf("asking %s for a token of %s: %w", member.Name, account.Name, err)
	}
	a.issued = append(a.issued, got.secret)
	if err := awaitAccepted(ctx, member, got.Token); err != nil {
		return Credential{}, fmt.Errorf("trying the new token of %s on %s: %w", account.Name, member.Name, err)
	}
	a.in.Steps.Done(steps.Created, what, why+"; the new one is valid until "+when(got.Expires))
	if have.BoundTo() == "" && have.Account == account.UID && have.Expires.After(a.in.Now()) {
		a.in.Steps.Note("%s: the earlier token stays valid until %s. To revoke it immediately, run `hostctl join %s --cluster-kubeconfig FILE --rotate`",
			member.Name, when(have.Expires), a.in.Binding.Cluster)
	}
	return got, nil
}

// keep decides whether the join can keep the token in the Secret at the host, and tries the token on the member. why is ""
// if the join can keep it, and else the reason why it cannot.
func (a *attempt) keep(ctx context.Context, key string, account *corev1.ServiceAccount) (why string, have Credential, err error) {
	if a.stored == nil || len(a.stored.Data[key]) == 0 {
		return "the host has no token", have, nil
	}
	have, err = Read(string(a.stored.Data[key]))
	switch {
	case err != nil:
		return "the host's token cannot be read", have, nil
	case have.Account != account.UID: // checked here, because an API server may accept the token of a deleted account from its cache for a few seconds
		return "the host's token belongs to an earlier account", have, nil
	case !have.Expires.After(a.in.Now()):
		return "the host's token expired on " + when(have.Expires), have, nil
	case !have.fresh(a.in.Now()):
		return "the host's token was issued on " + when(have.issued) + " and expires on " + when(have.Expires), have, nil
	}
	switch err := try(ctx, a.in.Member, have.Token); {
	case apierrors.IsUnauthorized(err):
		return "the member no longer accepts the host's token", have, nil
	case apierrors.IsForbidden(err), cluster.Absent(err): // the API server accepts the token; a later step of this join repairs the missing rights or the missing Membership
	case err != nil:
		return "", have, fmt.Errorf("trying the host's token of %s on %s: %w", account.Name, a.in.Member.Name, err)
	}
	switch {
	case have.BoundTo() == "":
		return "the host's token is bound to no Secret, so only the deletion of its account could revoke it", have, nil
	case !a.present.mayHold(have.secret): // checked here, because an API server may accept a revoked token from its cache for a few seconds
		return "the host's token was revoked", have, nil
	}
	return "", have, nil
}

func awaitAccepted(ctx context.Context, member cluster.Cluster, token string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, cluster.PollEvery, tokenTimeout, true, func(ctx context.Context) (bool, error) {
		last = try(ctx, member, token)
		if apierrors.IsForbidden(last) || apierrors.IsUnauthorized(last) {
			return false, nil
		}
		return last == nil, last
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// try tests a token: it reads the Membership with the token.
func try(ctx context.Context, member cluster.Cluster, token string) error {
	c, err := member.WithToken(token, permissions.HostAccount)
	if err != nil {
		return err
	}
	return c.Get(ctx, types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{})
}
