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
	// tokenLifetime is asked for; API servers may give less (--service-account-max-token-expiration), and what comes is
	// taken. It is as long as a member may be away and be served again without a person.
	tokenLifetime = 30 * 24 * time.Hour
	// tokenAge is how old a token gets: for longer no stolen one works. One that lives for less than three times that is
	// renewed after a third of its life.
	tokenAge = 24 * time.Hour
)

// tokenTimeout bounds the wait until a new token is accepted: roles reach the authorizer a moment after they are made.
const tokenTimeout = 15 * time.Second

// credential is a token of the host's account, with whose it is, the Secret that it is bound to, and its life as the token
// itself says.
type credential struct {
	token           string
	account         types.UID
	secret          tokenSecret
	issued, expires time.Time
}

// due is when another is to take its place.
func (c credential) due() time.Time {
	return c.issued.Add(min(tokenAge, c.expires.Sub(c.issued)/3))
}

func (c credential) fresh(now time.Time) bool { return now.Before(c.due()) }

// lastSecond is the last one of the year 9999, past which JSON knows no time.
const lastSecond = 253402300799

// readToken reads the life of a service account's token. It verifies nothing: that is the API server's part.
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
		return credential{}, errors.New("reading a token: its time of issue or expiry is out of range: look at the member's API server, then join again")
	}
	return credential{
		token: token, account: claims.Kube.ServiceAccount.UID, secret: tokenSecret{claims.Kube.Secret.Name, claims.Kube.Secret.UID},
		issued: time.Unix(claims.IssuedAt, 0), expires: time.Unix(claims.Expires, 0),
	}, nil
}

// obtainToken keeps the token that the host has while it works and lasts, so that joining again writes nothing; else
// it asks for a new one.
func (p *pass) obtainToken(ctx context.Context) error {
	why, have, err := p.keepToken(ctx)
	if err != nil {
		return err
	}
	what := p.member.cluster + ": token of " + HostAccount
	if why == "" {
		p.done(Unchanged, what, "it holds until "+when(p.token.expires))
		return nil
	}
	if p.opts.DryRun {
		p.done(Created, what, why)
		return nil
	}
	if p.token, err = issue(ctx, p.member.client, p.account, have); err != nil {
		return fmt.Errorf("asking %s for a token of %s: %w", p.member.cluster, HostAccount, err)
	}
	if err := p.awaitAccepted(ctx); err != nil {
		return fmt.Errorf("trying the new token of %s on %s: %w", HostAccount, p.member.cluster, err)
	}
	p.done(Created, what, why+"; it holds until "+when(p.token.expires))
	if have.secret.name == "" && have.account == p.account.UID && have.expires.After(p.now()) {
		p.note("%s: the token before goes on to work until %s; `hostctl join %s --cluster-kubeconfig FILE --rotate` revokes it at once", p.member.cluster, when(have.expires), p.opts.Name)
	}
	return nil
}

// keepToken takes the token that the host has, which it hands back too. If it cannot be kept it says why.
func (p *pass) keepToken(ctx context.Context) (why string, have credential, err error) {
	secret, err := p.hostSecret(ctx)
	if err != nil {
		return "", have, err
	}
	if secret == nil {
		return "the host has none", have, nil
	}
	have, err = readToken(string(secret.Data[v1alpha1.SecretToken]))
	switch {
	case err != nil:
		return "the host's cannot be read", have, nil
	case have.account != p.account.UID: // an API server may take it a few seconds longer, from its cache
		return "the host's is of an account that was made anew", have, nil
	case !have.expires.After(p.now()):
		return "the host's expired on " + when(have.expires), have, nil
	case !have.fresh(p.now()):
		return "the host's is of " + when(have.issued) + " and expires on " + when(have.expires), have, nil
	}
	switch err := p.try(ctx, have.token); {
	case apierrors.IsUnauthorized(err):
		return "the member no longer accepts the host's", have, nil
	case apierrors.IsForbidden(err), absent(err): // it is known: rights and Membership are this join's to mend
	case err != nil:
		return "", have, fmt.Errorf("trying the host's token on %s: %w", p.member.cluster, err)
	}
	if have.secret.name == "" {
		return "the host's could not be revoked", have, nil
	}
	p.token = have
	return "", have, nil
}

func (p *pass) awaitAccepted(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, tokenTimeout, true, func(ctx context.Context) (bool, error) {
		last = p.try(ctx, p.token.token)
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
func (p *pass) try(ctx context.Context, token string) error {
	c, err := p.as(token)
	if err != nil {
		return err
	}
	return c.Get(ctx, types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{})
}

func (p *pass) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: p.opts.Name}}
}
