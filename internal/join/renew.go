// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Renewal is what became of the host's token for a member.
type Renewal struct {
	// Expires is when the token in the Secret ends; zero for credentials that are no token of ours.
	Expires time.Time
	// Due is when to renew it; zero for never.
	Due time.Time
	// Renewed is whether the Secret holds a new one.
	Renewed bool
	// Unbound is whether the token is bound to no Secret on the member, and cannot be revoked by itself: the host's Role there
	// is of the version before.
	Unbound bool
}

// Renew asks the member for a new token with the one that the host has, once that one is a day old, or a third of its life
// is over, and puts it into the Secret. The old one works until Revoke is called with the new one, so nothing is cut off in
// between. Credentials that a person put there (a certificate, a token without an end) are left alone. now is the member's
// time, which is what tokens are dated by: where the clocks are further apart than a token lives, the host's own would never
// have it renewed, or always. A new token that would be due at once is not kept for the same reason, whoever is wrong about
// the time; nor is one that accepts, which tries it on the member, has an error for.
func Renew(
	ctx context.Context, host, member client.Client, accepts func(ctx context.Context, token string) error, secret *corev1.Secret, now time.Time,
) (Renewal, error) {
	have, err := readToken(string(secret.Data[v1alpha1.SecretToken]))
	if err != nil {
		return Renewal{}, nil //nolint:nilerr // it is none of ours to renew
	}
	if have.fresh(now) {
		return renewal(have, false), nil
	}
	account := serviceAccount(HostAccount)
	account.UID = have.account
	got, err := issue(ctx, member, account, have)
	if err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token in Secret %s, which ends on %s: %w", secret.Name, when(have.expires), err)
	}
	if !got.fresh(now) {
		err = fmt.Errorf("the member's new token holds from %s to %s, and its clock says %s: correct the clocks of its control plane", when(got.issued), when(got.expires), when(now))
	} else {
		err = accepts(ctx, got.token)
	}
	if err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token in Secret %s: %w", secret.Name, errors.Join(err, dropTokenSecret(ctx, member, got.secret)))
	}
	next := secret.DeepCopy()
	next.Data[v1alpha1.SecretSuperseded] = supersede(next.Data, got)
	next.Data[v1alpha1.SecretToken] = []byte(got.token)
	err = host.Update(ctx, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // after any other error it may have been stored
		err = errors.Join(err, dropTokenSecret(ctx, member, got.secret))
	}
	if err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token in Secret %s: %w", secret.Name, err)
	}
	return renewal(got, true), nil
}

func renewal(c credential, renewed bool) Renewal {
	return Renewal{Expires: c.expires, Due: c.due(), Renewed: renewed, Unbound: c.secret.name == ""}
}
