// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Renewal is the result of Renew for the tokens of a member.
type Renewal struct {
	// Expires is when the host's token in the Secret ends; zero for credentials that are not a token of Fairlead.
	Expires time.Time
	// Due is when to renew the first of the tokens; zero for never.
	Due time.Time
	// Renewed is whether the Secret holds a new token.
	Renewed bool
	// Shared is whether the Secret holds no token of the collector's account: a collector inside the manager then uses the host's
	// credentials. So it is where an earlier version joined the member.
	Shared bool
	// Unbound is whether the host's token is bound to no Secret on the member, and cannot be revoked by itself: the host's Role there
	// is of the version before.
	Unbound bool
}

// Renew asks the member for new tokens in place of those in the Secret at the host: the host's own token, and the
// token for a collector inside the manager if the Secret holds one. It does so once a token is a day old, or a third
// of its life is over, and puts the new token into the Secret. The old one works until Revoke is called, so no
// connection breaks in between. Credentials that a person put there (a certificate, a token without an end) stay as
// they are.
//
// now is the member's time, because the member dates the tokens. If the clocks differ by more than a token's life,
// the host's own time would renew the token never, or always. For the same reason Renew does not keep a new token
// that would be due at once, whichever clock is wrong. accepts tries a new token on the member. If it returns an
// error, Renew does not keep the token.
func Renew(
	ctx context.Context, host, member client.Client, accepts func(ctx context.Context, token string) error, secret *corev1.Secret, now time.Time,
) (Renewal, error) {
	r := renewer{host: host, member: member, accepts: accepts, secret: secret, now: now}
	got, err := r.renew(ctx, v1alpha1.SecretToken)
	got.Shared = len(secret.Data[v1alpha1.SecretCollectorToken]) == 0
	if got.Shared {
		return got, err
	}
	collector, other := r.renew(ctx, v1alpha1.SecretCollectorToken)
	got.Renewed = got.Renewed || collector.Renewed
	if got.Due.IsZero() || !collector.Due.IsZero() && collector.Due.Before(got.Due) {
		got.Due = collector.Due
	}
	return got, errors.Join(err, other)
}

// renewer is one call of Renew.
type renewer struct {
	host, member client.Client
	accepts      func(ctx context.Context, token string) error
	// secret is the Secret at the host as it is now: a renewal replaces it.
	secret *corev1.Secret
	now    time.Time
}

// renew renews the token under a key of the Secret.
func (r *renewer) renew(ctx context.Context, key string) (Renewal, error) {
	have, err := readToken(string(r.secret.Data[key]))
	if err != nil {
		return Renewal{}, nil //nolint:nilerr // it is none of ours to renew
	}
	if have.fresh(r.now) {
		return renewal(have, false), nil
	}
	account := serviceAccount(tokenKeys[key])
	account.UID = have.account
	got, err := issue(ctx, r.member, account, have, r.giveUp)
	if err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token of account %s in Secret %s (the token expires on %s): %w", account.Name, r.secret.Name, when(have.expires), err)
	}
	if !got.fresh(r.now) {
		err = fmt.Errorf("the member's new token holds from %s to %s, and its clock says %s: correct the clocks of its control plane", when(got.issued), when(got.expires), when(r.now))
	} else {
		err = r.accepts(ctx, got.token)
	}
	if err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token of account %s in Secret %s: %w", account.Name, r.secret.Name, errors.Join(err, dropTokenSecret(ctx, r.member, got.secret)))
	}
	next := r.secret.DeepCopy()
	next.Data[key] = []byte(got.token)
	setSuperseded(r.secret.Data, next.Data)
	err = r.host.Update(ctx, next)
	if isRefusal(err) { // after any other error it may have been stored
		err = errors.Join(err, dropTokenSecret(ctx, r.member, got.secret))
	}
	if err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token of account %s in Secret %s: %w", account.Name, r.secret.Name, err)
	}
	r.secret = next
	return renewal(got, true), nil
}

// giveUp writes the Secret at the host before the manager deletes a Secret on the member that the host knows nothing of.
// A join may be about to store the token that is bound to it. The host's API server then refuses the join's write, and
// the join chooses its tokens again.
func (r *renewer) giveUp(ctx context.Context, name string) error {
	next := r.secret.DeepCopy()
	// No Secret has this uid, so the line deletes nothing. It is another line each time: an update that changes nothing
	// would not stop the join.
	line := tokenSecret{name: name, uid: types.UID(fmt.Sprintf("lost-%d", r.now.Unix()))}
	next.Data[v1alpha1.SecretSuperseded] = supersede(r.secret.Data, r.secret.Data, []tokenSecret{line})
	if err := r.host.Update(ctx, next); err != nil {
		return fmt.Errorf("noting that the token bound to Secret %s/%s is lost: %w", v1alpha1.SystemNamespace, name, err)
	}
	r.secret = next
	return nil
}

func renewal(c credential, renewed bool) Renewal {
	return Renewal{Expires: c.expires, Due: c.due(), Renewed: renewed, Unbound: c.secret.name == ""}
}
