// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// tokenLifetime is the lifetime of a token that the host requests. An API server may issue a token with a shorter
	// lifetime (--service-account-max-token-expiration), and the host accepts that. If the host cannot reach a member
	// until its token has expired, a user has to join the member again.
	tokenLifetime = 30 * 24 * time.Hour
	// tokenAge is the age at which the manager replaces and revokes a token, so that a stolen token does not work for
	// longer. The manager replaces a token with a lifetime of less than three times tokenAge after a third of its lifetime.
	tokenAge = 24 * time.Hour
)

// tokenTimeout bounds the wait until the member's API server accepts a new token. The API server's authorizer sees new
// roles a moment after the join has created them.
const tokenTimeout = 15 * time.Second

// credential is a token of an account on the member, and some of its claims.
type credential struct {
	token string
	// account is the uid of the account.
	account types.UID
	// secret is the token Secret of the token; the zero value if the token is bound to none.
	secret tokenSecret
	// issued and expires are the times of issue and expiry, by the member's clock.
	issued, expires time.Time
}

// due returns when a new token has to replace this token.
func (c credential) due() time.Time {
	return c.issued.Add(min(tokenAge, c.expires.Sub(c.issued)/3))
}

func (c credential) fresh(now time.Time) bool { return now.Before(c.due()) }

// lastSecond is the last second of the year 9999, as a Unix time. Go cannot encode a later time in JSON.
const lastSecond = 253402300799

// readToken reads the claims of a service account's token. It does not verify the signature, because the API server does so
// whenever the token is used.
func readToken(token string) (credential, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return credential{}, errors.New("decoding a service account's token: it is no JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return credential{}, fmt.Errorf("decoding a service account's token: %w", err)
	}
	var claims struct {
		IssuedAt int64 `json:"iat"`
		Expires  int64 `json:"exp"`
		Kube     struct {
			Secret struct {
				Name string    `json:"name"`
				UID  types.UID `json:"uid"`
			} `json:"secret"`
			ServiceAccount struct {
				UID types.UID `json:"uid"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return credential{}, fmt.Errorf("decoding a service account's token: %w", err)
	}
	if claims.Expires == 0 {
		return credential{}, errors.New("decoding a service account's token: it does not say when it expires")
	}
	if claims.IssuedAt < 0 || claims.Expires < 0 || claims.IssuedAt > lastSecond || claims.Expires > lastSecond {
		return credential{}, errors.New("decoding a service account's token: its time of issue or expiry is out of range. Check the clock of the member's API server, then join again")
	}
	return credential{
		token: token, account: claims.Kube.ServiceAccount.UID, secret: tokenSecret{claims.Kube.Secret.Name, claims.Kube.Secret.UID},
		issued: time.Unix(claims.IssuedAt, 0), expires: time.Unix(claims.Expires, 0),
	}, nil
}

// obtainTokens keeps or requests the host's token and, if the collector runs inside the manager, the collector's token.
func (p *joiner) obtainTokens(ctx context.Context) error {
	if err := p.readTokens(ctx); err != nil {
		return err
	}
	p.collectorToken = credential{}
	var err error
	if p.token, err = p.obtainToken(ctx, p.stored, v1alpha1.SecretToken, p.account); err != nil {
		return err
	}
	if p.collector == v1alpha1.CollectorHost {
		p.collectorToken, err = p.obtainToken(ctx, p.stored, v1alpha1.SecretCollectorToken, p.collectorAccount)
	}
	return err
}

// obtainToken returns the token of an account that the Secret at the host has, if that token works and is not due for
// renewal. So a repeated join writes nothing. In all other cases it requests a new token. secret is nil if the host has no
// Secret.
func (p *joiner) obtainToken(ctx context.Context, secret *corev1.Secret, key string, account *corev1.ServiceAccount) (credential, error) {
	why, have, err := p.keepToken(ctx, secret, key, account)
	if err != nil {
		return credential{}, err
	}
	what := p.member.cluster + ": token of " + account.Name
	if why == "" {
		p.done(Unchanged, what, "it is valid until "+when(have.expires))
		return have, nil
	}
	if p.opts.DryRun {
		p.done(Created, what, why)
		return credential{}, nil
	}
	got, err := issue(ctx, p.member.client, account, have, p.giveUp)
	if err != nil {
		return credential{}, fmt.Errorf("asking %s for a token of %s: %w", p.member.cluster, account.Name, err)
	}
	p.issued = append(p.issued, got.secret)
	if err := p.awaitAccepted(ctx, got.token); err != nil {
		return credential{}, fmt.Errorf("trying the new token of %s on %s: %w", account.Name, p.member.cluster, err)
	}
	p.done(Created, what, why+"; the new one is valid until "+when(got.expires))
	if have.secret.name == "" && have.account == account.UID && have.expires.After(p.now()) {
		p.note("%s: the earlier token stays valid until %s. To revoke it immediately, run `hostctl join %s --cluster-kubeconfig FILE --rotate`", p.member.cluster, when(have.expires), p.opts.Name)
	}
	return got, nil
}

// keepToken decides whether the join can keep the token in the Secret at the host, and tries the token on the member. why
// is "" if the join can keep it, and else the reason why it cannot.
func (p *joiner) keepToken(ctx context.Context, secret *corev1.Secret, key string, account *corev1.ServiceAccount) (why string, have credential, err error) {
	if secret == nil || len(secret.Data[key]) == 0 {
		return "the host has no token", have, nil
	}
	have, err = readToken(string(secret.Data[key]))
	switch {
	case err != nil:
		return "the host's token cannot be read", have, nil
	case have.account != account.UID: // checked here, because an API server may accept the token of a deleted account from its cache for a few seconds
		return "the host's token belongs to an earlier account", have, nil
	case !have.expires.After(p.now()):
		return "the host's token expired on " + when(have.expires), have, nil
	case !have.fresh(p.now()):
		return "the host's token was issued on " + when(have.issued) + " and expires on " + when(have.expires), have, nil
	}
	switch err := p.try(ctx, have.token); {
	case apierrors.IsUnauthorized(err):
		return "the member no longer accepts the host's token", have, nil
	case apierrors.IsForbidden(err), absent(err): // the API server accepts the token; a later step of this join repairs the missing rights or the missing Membership
	case err != nil:
		return "", have, fmt.Errorf("trying the host's token of %s on %s: %w", account.Name, p.member.cluster, err)
	}
	switch {
	case have.secret.name == "":
		return "the host's token is bound to no Secret, so the host could not revoke it without its account", have, nil
	case !p.tokenSecrets.mayHold(have.secret): // checked here, because an API server may accept a revoked token from its cache for a few seconds
		return "the host's token was revoked", have, nil
	}
	return "", have, nil
}

func (p *joiner) awaitAccepted(ctx context.Context, token string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, tokenTimeout, true, func(ctx context.Context) (bool, error) {
		last = p.try(ctx, token)
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
func (p *joiner) try(ctx context.Context, token string) error {
	c, err := p.as(token)
	if err != nil {
		return err
	}
	return c.Get(ctx, types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{})
}

func (p *joiner) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: p.opts.Name}}
}
