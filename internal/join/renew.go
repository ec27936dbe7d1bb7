// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
}

// Renew asks the member for a new token with the one that the host has, once two thirds of that one's life are over,
// and puts it into the Secret. The old one goes on to work until it ends, so nothing is cut off in between. Credentials
// that a person put there (a certificate, a token without an end) are left alone. now is the member's time, which is what
// tokens are dated by: where the clocks are further apart than a token lives, the host's own would never have it renewed, or
// always. A new token that would be due at once is not kept for the same reason, whoever is wrong about the time.
func Renew(ctx context.Context, host, member client.Client, secret *corev1.Secret, now time.Time) (Renewal, error) {
	have, err := readToken(string(secret.Data[v1alpha1.SecretToken]))
	if err != nil {
		return Renewal{}, nil //nolint:nilerr // it is none of ours to renew
	}
	if have.fresh(now) {
		return renewal(have, false), nil
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: HostAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLifetime / time.Second))}}
	if err := member.SubResource("token").Create(ctx, account, request); err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token in Secret %s, which ends on %s: %w", secret.Name, when(have.expires), err)
	}
	got, err := readToken(request.Status.Token)
	if err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token in Secret %s: %w", secret.Name, err)
	}
	if !got.fresh(now) {
		return renewal(have, false), fmt.Errorf("renewing the token in Secret %s: the member gave one for %s to %s, of which too little is left at %s there",
			secret.Name, when(got.issued), when(got.expires), when(now))
	}
	next := secret.DeepCopy()
	next.Data[v1alpha1.SecretToken] = []byte(got.token)
	if err := host.Update(ctx, next); err != nil {
		return renewal(have, false), fmt.Errorf("renewing the token in Secret %s: %w", secret.Name, err)
	}
	return renewal(got, true), nil
}

func renewal(c credential, renewed bool) Renewal {
	return Renewal{Expires: c.expires, Due: c.expires.Add(-c.expires.Sub(c.issued) / 3), Renewed: renewed}
}
