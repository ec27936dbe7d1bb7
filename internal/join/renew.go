// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// Renewed is true if the Secret holds a new token.
	Renewed bool
	// Shared is true if the Secret holds no token of the collector's account. A collector inside the manager then uses the host's
	// credentials. This is the case if an earlier version joined the member.
	Shared bool
	// Unbound is true if the host's token is bound to no Secret on the member. Then nobody can revoke this token alone. The Role
	// of an earlier version does not let the host create such Secrets.
	Unbound bool
	// Overdue and CollectorOverdue tell why the host's token and the collector's are not renewed, nil where they are.
	Overdue, CollectorOverdue *Overdue
}

// Overdue is a token that could not be renewed for longer than a few attempts take.
type Overdue struct {
	// Account is the service account of the token.
	Account string
	// Since is when its renewal was due, Expires is when it ends.
	Since, Expires time.Time
	// Err is the error of the last attempt.
	Err error
}

// overdueAfter is how long renewals may fail without being reported: a join at the same time, or a short outage, makes one
// attempt fail. For a token with a short life it is half of the time between the due renewal and the expiry.
const overdueAfter = time.Hour

// Renew asks the member for new tokens in place of those in the Secret at the host: the host's own token, and the
// token for a collector inside the manager if the Secret holds one. It does so once a token is a day old, or a third
// of its life is over, and puts the new token into the Secret. The old one works until Revoke is called, so no
// connection breaks in between. Credentials that a person put there (a certificate, a token without an end) stay as
// they are.
//
// now is the member's time, because the member dates the tokens. If the clocks differ by more than a token's life,
// the host's own time would renew the token never, or always. For the same reason Renew does not keep a new token
// that would already be due, whichever clock is wrong. accepts tries a new token on the member. If it returns an
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
	got.Renewed, got.CollectorOverdue = got.Renewed || collector.Renewed, collector.Overdue
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
		return Renewal{}, nil //nolint:nilerr // Fairlead does not renew credentials that it did not issue
	}
	if have.fresh(r.now) {
		return renewal(have, false), nil
	}
	got, err := r.replace(ctx, key, have)
	if err != nil {
		result := renewal(have, false)
		if r.now.After(have.due().Add(min(overdueAfter, have.expires.Sub(have.due())/2))) {
			result.Overdue = &Overdue{Account: tokenKeys[key], Since: have.due(), Expires: have.expires, Err: err}
		}
		return result, fmt.Errorf("renewing the token of account %s in Secret %s (the token expires on %s): %w", tokenKeys[key], r.secret.Name, when(have.expires), err)
	}
	return renewal(got, true), nil
}

// replace gets a new token, and writes it to this key of the Secret in place of the old token.
func (r *renewer) replace(ctx context.Context, key string, have credential) (credential, error) {
	account := serviceAccount(tokenKeys[key])
	account.UID = have.account
	got, err := issue(ctx, r.member, account, have, r.giveUp)
	if err != nil {
		return credential{}, err
	}
	if !got.fresh(r.now) {
		err = fmt.Errorf("the member's new token is valid from %s to %s, and the member's clock says %s: correct the clocks of its control "+
			"plane", when(got.issued), when(got.expires), when(r.now))
	} else {
		err = r.accepts(ctx, got.token)
	}
	if err != nil {
		return credential{}, errors.Join(err, dropTokenSecret(ctx, r.member, got.secret))
	}
	next := r.secret.DeepCopy()
	next.Data[key] = []byte(got.token)
	setSuperseded(r.secret.Data, next.Data)
	err = r.host.Update(ctx, next)
	if isRefusal(err) { // after any other error it may have been stored
		err = errors.Join(err, dropTokenSecret(ctx, r.member, got.secret))
	}
	if err != nil {
		return credential{}, err
	}
	r.secret = next
	return got, nil
}

// lostUID is the prefix of a made-up uid for a Secret whose uid the host does not know.
const lostUID = "lost-"

// giveUp writes the Secret at the host before the manager deletes a Secret on the member that the host knows nothing of.
// A join may be about to store the token that is bound to it. The host's API server then refuses the join's write, and
// the join chooses its tokens again.
func (r *renewer) giveUp(ctx context.Context, name string) error {
	next := withLost(r.secret, name, r.now)
	if err := r.host.Update(ctx, next); err != nil {
		return fmt.Errorf("noting that the token bound to Secret %s/%s is lost: %w", v1alpha1.SystemNamespace, name, err)
	}
	r.secret = next
	return nil
}

// withLost is the Secret at the host with a line for a lost token. No Secret has the made-up uid, so the line deletes
// nothing. The uid differs each time, because only an update that changes the Secret makes another client's write fail.
func withLost(secret *corev1.Secret, name string, now time.Time) *corev1.Secret {
	next := secret.DeepCopy()
	line := tokenSecret{name: name, uid: types.UID(fmt.Sprintf("%s%d", lostUID, now.UnixNano()))}
	earlier := func(l string) bool { return strings.HasPrefix(l, name+"/"+lostUID) } // of an attempt that failed
	lines := slices.DeleteFunc(strings.Fields(string(secret.Data[v1alpha1.SecretSuperseded])), earlier)
	next.Data[v1alpha1.SecretSuperseded] = []byte(strings.Join(sorted(append(lines, line.String())), "\n"))
	return next
}

// CollectorTokenExpires is when the collector's token in a Secret at the host ends; zero if it holds none that says so.
func CollectorTokenExpires(secret *corev1.Secret) time.Time {
	have, _ := readToken(string(secret.Data[v1alpha1.SecretCollectorToken])) // zero for none
	return have.expires
}

func renewal(c credential, renewed bool) Renewal {
	return Renewal{Expires: c.expires, Due: c.due(), Renewed: renewed, Unbound: c.secret.name == ""}
}
