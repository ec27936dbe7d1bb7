// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// tokenSecrets are the names of the Secrets on a member that tokens of the host are bound to: an API server refuses a token
// once its Secret is deleted. They hold nothing. There are several, so that a manager that renews and a person who joins at
// the same time do not take each other's; and they are few, so that the host may delete these and no others.
func tokenSecrets() []string {
	return []string{HostAccount + "-token-1", HostAccount + "-token-2", HostAccount + "-token-3", HostAccount + "-token-4"}
}

// tokenSecret is the Secret on the member that a token is bound to; it is empty for a token that is bound to none.
type tokenSecret struct {
	name string
	uid  types.UID
}

func (s tokenSecret) String() string { return s.name + "/" + string(s.uid) }

// known says whether it is one that the host made: the member says to what a token is bound, and is not trusted.
func (s tokenSecret) known() bool {
	return slices.Contains(tokenSecrets(), s.name) && len(s.uid) > 0 && len(s.uid) <= 64 && !strings.ContainsAny(string(s.uid), "/\n\t ")
}

// issue asks the member for a token of the host's account, bound to a Secret of its own. A host whose Role on the member is of
// the version before may make no Secret there, and gets one that is bound to none. current is the token that it has.
func issue(ctx context.Context, member client.Client, account *corev1.ServiceAccount, current credential) (credential, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLifetime / time.Second))}}
	held, err := holdTokenSecret(ctx, member, account, current)
	switch {
	case lacksTheRight(err):
	case err != nil:
		return credential{}, err
	default:
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: held.name, UID: held.uid}
	}
	err = member.SubResource("token").Create(ctx, account, request)
	if err != nil {
		return credential{}, errors.Join(err, dropTokenSecret(ctx, member, held))
	}
	got, err := readToken(request.Status.Token)
	if err != nil {
		return credential{}, errors.Join(err, dropTokenSecret(ctx, member, held))
	}
	return got, nil
}

// lacksTheRight recognises a refusal by RBAC. Another one, by a quota or an admission policy, is an error: a token that is bound to
// nothing cannot be revoked, and joining again would not help.
func lacksTheRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `cannot create resource "secrets"`)
}

// holdTokenSecret makes the Secret for the next token, under a name that is free. Where none is, tokens were asked for that the
// host never got to store: one of theirs is deleted first. The host may not read these Secrets, so making one tells.
func holdTokenSecret(ctx context.Context, member client.Client, account *corev1.ServiceAccount, current credential) (tokenSecret, error) {
	names := slices.DeleteFunc(tokenSecrets(), func(name string) bool { return name == current.secret.name })
	for _, name := range append(slices.Clone(names), names[0]) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name},
			Type: corev1.SecretTypeOpaque, Immutable: ptr.To(true)}
		belongTo(secret, account)
		err := member.Create(ctx, secret)
		switch {
		case err == nil:
			return tokenSecret{secret.Name, secret.UID}, nil
		case !apierrors.IsAlreadyExists(err):
			return tokenSecret{}, fmt.Errorf("making Secret %s/%s for a token: %w", v1alpha1.SystemNamespace, name, err)
		}
		if name == names[len(names)-1] {
			if err := dropTokenSecret(ctx, member, tokenSecret{name: names[0]}); err != nil {
				return tokenSecret{}, err
			}
		}
	}
	return tokenSecret{}, fmt.Errorf("making a Secret for a token in %s: other clients created %s at the same time; it is tried again", v1alpha1.SystemNamespace, list(names))
}

// dropTokenSecret deletes a Secret that a token is bound to, which revokes the token. One that was made anew under the name stays,
// where the uid is known.
func dropTokenSecret(ctx context.Context, member client.Client, s tokenSecret) error {
	if s.name == "" {
		return nil
	}
	var opts []client.DeleteOption
	if s.uid != "" {
		opts = append(opts, client.Preconditions{UID: &s.uid})
	}
	err := member.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: s.name}}, opts...)
	if err == nil || absent(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting Secret %s/%s, which revokes the token that is bound to it: %w", v1alpha1.SystemNamespace, s.name, err)
}

// supersede notes in the data of a Secret at the host that its token is replaced, so that the old one is revoked once the new
// one has worked.
func supersede(data map[string][]byte, by credential) []byte {
	lines := strings.Fields(string(data[v1alpha1.SecretSuperseded]))
	if had, err := readToken(string(data[v1alpha1.SecretToken])); err == nil && had.secret.known() {
		lines = append(lines, had.secret.String())
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == by.secret.String() })
	return []byte(strings.Join(sorted(lines), "\n"))
}

// Revoke deletes, on the member, the Secrets of those tokens that the one in the Secret has replaced. Call it with a connection that
// uses that one: that it may delete them is the proof that it works.
func Revoke(ctx context.Context, host, member client.Client, secret *corev1.Secret) error {
	lines := strings.Fields(string(secret.Data[v1alpha1.SecretSuperseded]))
	if len(lines) == 0 {
		return nil
	}
	now, err := readToken(string(secret.Data[v1alpha1.SecretToken]))
	if err != nil {
		return nil //nolint:nilerr // a person has put other credentials there: which of them work is not known
	}
	for _, line := range lines {
		name, uid, _ := strings.Cut(line, "/")
		old := tokenSecret{name: name, uid: types.UID(uid)}
		if !old.known() || old == now.secret {
			continue
		}
		if err := dropTokenSecret(ctx, member, old); err != nil {
			return err
		}
	}
	next := secret.DeepCopy()
	delete(next.Data, v1alpha1.SecretSuperseded)
	if err := host.Update(ctx, next); err != nil {
		return fmt.Errorf("noting in Secret %s that the tokens before are revoked: %w", secret.Name, err)
	}
	return nil
}
