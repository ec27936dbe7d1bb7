// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// tokenLifetime is the lifetime of a token that the host requests. An API server may issue a token with a shorter
	// lifetime (--service-account-max-token-expiration), and the host accepts that. If the host cannot reach a member for so
	// long that its token expires, a user has to join the member again.
	tokenLifetime = 30 * 24 * time.Hour
	// tokenAge is the age at which the manager replaces and revokes a token, so that a stolen token does not work for
	// longer. If the lifetime of a token is less than three times tokenAge, the manager replaces the token after a third of
	// that lifetime.
	tokenAge = 24 * time.Hour
)

// Credential is a token of an account on the member, and some of its claims.
type Credential struct {
	Token string
	// Account is the uid of the account.
	Account types.UID
	// Expires is the time of expiry, by the member's clock.
	Expires time.Time
	// issued is the time of issue, by the member's clock.
	issued time.Time
	// secret is the token Secret of the token; the zero value if the token is bound to none.
	secret tokenSecret
}

// BoundTo returns the name of the token Secret to which the token is bound; "" if it is bound to none.
func (c Credential) BoundTo() string { return c.secret.name }

// due returns the time at which a new token has to replace this token.
func (c Credential) due() time.Time {
	return c.issued.Add(min(tokenAge, c.Expires.Sub(c.issued)/3))
}

func (c Credential) fresh(now time.Time) bool { return now.Before(c.due()) }

// lastSecond is the last second of the year 9999, as a Unix time. Go cannot encode a later time in JSON.
const lastSecond = 253402300799

// Read reads the claims of a service account's token. It does not verify the signature, because the API server does so
// whenever the token is used.
func Read(token string) (Credential, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Credential{}, errors.New("decoding a service account's token: it is no JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Credential{}, fmt.Errorf("decoding a service account's token: %w", err)
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
		return Credential{}, fmt.Errorf("decoding a service account's token: %w", err)
	}
	if claims.Expires == 0 {
		return Credential{}, errors.New("decoding a service account's token: it does not say when it expires")
	}
	if claims.IssuedAt < 0 || claims.Expires < 0 || claims.IssuedAt > lastSecond || claims.Expires > lastSecond {
		return Credential{}, errors.New("decoding a service account's token: its time of issue or expiry is out of range. Check the clock of the member's API server, then join again")
	}
	return Credential{
		Token: token, Account: claims.Kube.ServiceAccount.UID, secret: tokenSecret{claims.Kube.Secret.Name, claims.Kube.Secret.UID},
		issued: time.Unix(claims.IssuedAt, 0), Expires: time.Unix(claims.Expires, 0),
	}, nil
}

// when formats a time for messages, in UTC.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
