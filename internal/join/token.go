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
	// tokenLifetime is the requested lifetime. API servers may give less (--service-account-max-token-expiration),
	// and the host accepts that. It is also how long a member may be away without a person having to join it again.
	tokenLifetime = 30 * 24 * time.Hour
	// tokenAge is the greatest age of a token, so a stolen token works no longer than that. A token whose life is
	// shorter than three times that is renewed after a third of its life.
	tokenAge = 24 * time.Hour
)

// tokenTimeout bounds the wait until the API server accepts a new token: the authorizer learns of new roles a moment
// after their creation.
const tokenTimeout = 15 * time.Second

// credential is a token of an account on the member. It has the uid of the account, the Secret that the token is
// bound to, and the lifetime that the token itself states.
type credential struct {
	token           string
	account         types.UID
	secret          tokenSecret
	issued, expires time.Time
}

// due is when a new token has to replace this one.
func (c credential) due() time.Time {
	return c.issued.Add(min(tokenAge, c.expires.Sub(c.issued)/3))
}

func (c credential) fresh(now time.Time) bool { return now.Before(c.due()) }

// lastSecond is the last second of the year 9999. A later time has no form in JSON.
const lastSecond = 253402300799

// readToken reads the lifetime of a service account's token. It verifies nothing: the API server does that.
func readToken(token string) (credential, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return credential{}, errors.New("reading a token: it is no JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return credential{}, fmt.Errorf("reading a token: %w", err)
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
		return credential{}, fmt.Errorf("reading a token: %w", err)
	}
	if claims.Expires == 0 {
		return credential{}, errors.New("reading a token: it does not say when it expires")
	}
	if claims.IssuedAt < 0 || claims.Expires < 0 || claims.IssuedAt > lastSecond || claims.Expires > lastSecond {
		return credential{}, errors.New("reading a token: its time of issue or expiry is out of range. Check the clock of the member's API server, then join again")
	}
	return credential{
		token: token, account: claims.Kube.ServiceAccount.UID, secret: tokenSecret{claims.Kube.Secret.Name, claims.Kube.Secret.UID},
		issued: time.Unix(claims.IssuedAt, 0), expires: time.Unix(claims.Expires, 0),
	}, nil
}

// obtainTokens gets the host's token, and the token for a collector inside the manager.
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

// obtainToken keeps the host's present token of an account while it works and lasts, so that another join writes
// nothing. Otherwise it requests a new one. secret is nil if the host has none.
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
		p.note("%s: the earlier token stays valid until %s; `hostctl join %s --cluster-kubeconfig FILE --rotate` revokes it immediately", p.member.cluster, when(have.expires), p.opts.Name)
	}
	return got, nil
}

// keepToken reads the host's present token. If it cannot be kept, why is the reason.
func (p *joiner) keepToken(ctx context.Context, secret *corev1.Secret, key string, account *corev1.ServiceAccount) (why string, have credential, err error) {
	if secret == nil || len(secret.Data[key]) == 0 {
		return "the host has no token", have, nil
	}
	have, err = readToken(string(secret.Data[key]))
	switch {
	case err != nil:
		return "the host's token cannot be read", have, nil
	case have.account != account.UID: // an API server may take it a few seconds longer, from its cache
		return "the host's token is of an earlier account", have, nil
	case !have.expires.After(p.now()):
		return "the host's token expired on " + when(have.expires), have, nil
	case !have.fresh(p.now()):
		return "the host's token was issued on " + when(have.issued) + " and expires on " + when(have.expires), have, nil
	}
	switch err := p.try(ctx, have.token); {
	case apierrors.IsUnauthorized(err):
		return "the member no longer accepts the host's token", have, nil
	case apierrors.IsForbidden(err), absent(err): // the API server knows the token; this join repairs rights and Membership
	case err != nil:
		return "", have, fmt.Errorf("trying the host's token of %s on %s: %w", account.Name, p.member.cluster, err)
	}
	switch {
	case have.secret.name == "":
		return "nobody could revoke the host's token alone", have, nil
	case !p.tokenSecrets.mayHold(have.secret): // an API server may take it a few seconds longer, from its cache
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

// try reads the Membership with a token.
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
