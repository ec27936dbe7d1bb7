// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
)

// Renewal is the result of Renew for the tokens of a member.
type Renewal struct {
	// Expires is the time at which the host's token in the Secret expires; zero if the Secret holds credentials that
	// Fairlead did not issue.
	Expires time.Time
	// Due is the time at which the first of the tokens is due for renewal; zero if Fairlead renews none of them.
	Due time.Time
	// Renewed is true if the Secret holds a new token.
	Renewed bool
	// Shared is true if the Secret at the host has no token of the collector's account. If a collector runs inside the
	// manager, it then shares the host's token. This happens only on members that an earlier version joined.
	Shared bool
	// Unbound is true if the host's token is bound to no token Secret, because the Role that an earlier version wrote does
	// not let the host create one. Such a token can be revoked only by deleting its account.
	Unbound bool
	// Overdue tells why the host's token could not be renewed. It is nil while the renewal is not overdue (see
	// overdueAfter).
	Overdue *Overdue
	// CollectorOverdue is the same for the collector's token.
	CollectorOverdue *Overdue
}

// Overdue describes a token whose renewals have failed for longer than overdueAfter.
type Overdue struct {
	// Account is the service account of the token.
	Account string
	// Since is the time at which the renewal was due.
	Since time.Time
	// Expires is the time at which the token expires.
	Expires time.Time
	// Err is the error of the last attempt.
	Err error
}

// overdueAfter is the time for which renewals may fail after the due time, before Renew reports the failure. A join at the
// same time or a short outage makes only a few attempts fail. If less than twice overdueAfter lies between the due time and
// the expiry, Renew waits for half of that time instead.
const overdueAfter = time.Hour

// Renew replaces the tokens in the Secret at the host by new tokens of the member: the host's token, and the collector's
// token if the Secret holds one. It replaces a token that is a day old, or earlier if a third of its lifetime is over. The
// old token works until Revoke is called, so no connection breaks before that. Renew does not replace credentials that a
// person put into the Secret, such as a certificate or a token without an expiry.
//
// now is the time by the member's clock, because the member's API server writes the times into the tokens. If now came from
// the host's clock, and the two clocks differed by more than a token's lifetime, Renew would renew the token never or
// always.
//
// The function in the argument accepts tries a token on the member. Renew drops a new token in two cases: this function
// returns an error, or the new token is already due. A new token can be due because the clocks of the member's API
// servers differ.
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
	got.Renewed, got.CollectorOverdue = got.Renewed || collector.Renewed, collector.Overdue
	if got.Due.IsZero() || !collector.Due.IsZero() && collector.Due.Before(got.Due) {
		got.Due = collector.Due
	}
	return got, errors.Join(err, other)
}

// renewer has the state of one call of Renew.
type renewer struct {
	host, member client.Client
	accepts      func(ctx context.Context, token string) error
	// secret is the Secret at the host. After each successful write it is the Secret that the API server returned.
	secret *corev1.Secret
	now    time.Time
}

// renew renews the token in one key of the Secret at the host, if the token is due.
func (r *renewer) renew(ctx context.Context, key string) (Renewal, error) {
	have, err := Read(string(r.secret.Data[key]))
	if err != nil {
		return Renewal{}, nil //nolint:nilerr // Fairlead does not renew credentials that it did not issue
	}
	if have.fresh(r.now) {
		return renewal(have, false), nil
	}
	got, err := r.replace(ctx, key, have)
	if err != nil {
		result := renewal(have, false)
		if r.now.After(have.due().Add(min(overdueAfter, have.Expires.Sub(have.due())/2))) {
			result.Overdue = &Overdue{Account: tokenKeys[key], Since: have.due(), Expires: have.Expires, Err: err}
		}
		return result, fmt.Errorf("renewing the token of account %s in Secret %s (the token expires on %s): %w", tokenKeys[key], r.secret.Name, when(have.Expires), err)
	}
	return renewal(got, true), nil
}

// replace requests a new token, and writes it to this key of the Secret in place of the old token.
func (r *renewer) replace(ctx context.Context, key string, have Credential) (Credential, error) {
	account := cluster.ServiceAccount(tokenKeys[key])
	account.UID = have.Account
	got, err := issue(ctx, r.member, account, have, r.giveUp)
	if err != nil {
		return Credential{}, err
	}
	if !got.fresh(r.now) {
		err = fmt.Errorf("the member's new token is valid from %s to %s, and the member's clock says %s: correct the clocks of its control "+
			"plane", when(got.issued), when(got.Expires), when(r.now))
	} else {
		err = r.accepts(ctx, got.Token)
	}
	if err != nil {
		return Credential{}, errors.Join(err, dropTokenSecret(ctx, r.member, got.secret))
	}
	next := r.secret.DeepCopy()
	next.Data[key] = []byte(got.Token)
	setSuperseded(r.secret.Data, next.Data)
	err = r.host.Update(ctx, next)
	if isRefusal(err) { // after any other error the host may have stored the token, so replace does not revoke it
		err = errors.Join(err, dropTokenSecret(ctx, r.member, got.secret))
	}
	if err != nil {
		return Credential{}, err
	}
	r.secret = next
	return got, nil
}

// giveUp updates the Secret at the host before the manager deletes the token Secret of this name on the member. A join may
// be about to store the token that is bound to the token Secret. The host's API server then refuses the join's write as a
// conflict, and the join chooses its tokens again.
func (r *renewer) giveUp(ctx context.Context, name string) error {
	next := withLost(r.secret, name, r.now)
	if err := r.host.Update(ctx, next); err != nil {
		return fmt.Errorf("recording at the host that the token bound to Secret %s/%s is lost: %w", v1alpha1.SystemNamespace, name, err)
	}
	r.secret = next
	return nil
}

// CollectorTokenExpires returns the time at which the collector's token in a Secret at the host expires. It returns zero if
// the Secret has no such token, or if the token has no expiry.
func CollectorTokenExpires(secret *corev1.Secret) time.Time {
	have, _ := Read(string(secret.Data[v1alpha1.SecretCollectorToken])) // without a token the result is the zero value
	return have.Expires
}

// RenewalsDue returns, by account, the time at which the account's token in a Secret at the host is due for renewal. The time is zero
// if the Secret has no token of the account, or if Fairlead does not renew it.
func RenewalsDue(secret *corev1.Secret) map[string]time.Time {
	due := make(map[string]time.Time, len(tokenKeys))
	for key, account := range tokenKeys {
		due[account] = time.Time{}
		if have, err := Read(string(secret.Data[key])); err == nil {
			due[account] = have.due()
		}
	}
	return due
}

func renewal(c Credential, renewed bool) Renewal {
	return Renewal{Expires: c.Expires, Due: c.due(), Renewed: renewed, Unbound: c.secret.name == ""}
}
