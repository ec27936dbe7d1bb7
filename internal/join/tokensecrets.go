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

// tokenSecrets are the names of the Secrets on a member to which the host's tokens of an account are bound. An API server refuses a
// token once its Secret is deleted. The Secrets hold no data. There are several names, so that a renewal by the manager and a join at
// the same time use different Secrets. The names are fixed, so that a Role can restrict the host to deleting these Secrets.
func tokenSecrets(account string) []string {
	return []string{account + "-token-1", account + "-token-2", account + "-token-3", account + "-token-4"}
}

// allTokenSecrets are those of both accounts.
func allTokenSecrets() []string {
	return slices.Concat(tokenSecrets(HostAccount), tokenSecrets(CollectorAccount))
}

// tokenSecret is the Secret on the member that a token is bound to; it is empty for a token that is bound to none.
type tokenSecret struct {
	name string
	uid  types.UID
}

func (s tokenSecret) String() string { return s.name + "/" + string(s.uid) }

// known reports whether name and uid can be those of a Secret that was made for a token. They come from a token that the member
// issued, and the member is not trusted.
func (s tokenSecret) known() bool {
	return slices.Contains(allTokenSecrets(), s.name) && len(s.uid) > 0 && len(s.uid) <= 64 && !strings.ContainsAny(string(s.uid), "/\n\t ")
}

// issue asks the member for a token of an account, bound to a Secret of its own. The Role of a member that an earlier version
// joined forbids the host to create Secrets there; the token is then bound to none. current is the token that the host has.
// issue calls giveUp with the name of a Secret before it deletes that Secret to make room.
func issue(
	ctx context.Context, member client.Client, account *corev1.ServiceAccount, current credential, giveUp func(ctx context.Context, name string) error,
) (credential, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLifetime / time.Second))}}
	held, err := holdTokenSecret(ctx, member, account, current, giveUp)
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
	if err == nil && account.UID != "" && got.account != account.UID {
		// The earlier account owns the Secret, so the member's garbage collector is about to delete it, which revokes the token.
		err = fmt.Errorf("the member's service account %s was replaced meanwhile: run `hostctl join NAME --cluster-kubeconfig FILE` again", account.Name)
	}
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

// holdTokenSecret creates the Secret for the next token under a free name. The host may not read these Secrets, so it finds a free
// name by creating one. If no name is free, earlier attempts ended before they stored their tokens. Then holdTokenSecret first deletes
// the Secret of one of those tokens.
func holdTokenSecret(
	ctx context.Context, member client.Client, account *corev1.ServiceAccount, current credential, giveUp func(ctx context.Context, name string) error,
) (tokenSecret, error) {
	names := slices.DeleteFunc(tokenSecrets(account.Name), func(name string) bool { return name == current.secret.name })
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
			if err := giveUp(ctx, names[0]); err != nil {
				return tokenSecret{}, err
			}
			if err := dropTokenSecret(ctx, member, tokenSecret{name: names[0]}); err != nil {
				return tokenSecret{}, err
			}
		}
	}
	return tokenSecret{}, fmt.Errorf("making a Secret for a token in %s: other clients created %s at the same time. Try again", v1alpha1.SystemNamespace, list(names))
}

// dropTokenSecret deletes a Secret that a token is bound to, which revokes the token. If the uid is known, a newer
// Secret of the same name stays.
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

// tokenKeys are the keys under which a Secret at the host holds tokens, with the accounts of the tokens.
var tokenKeys = map[string]string{v1alpha1.SecretToken: HostAccount, v1alpha1.SecretCollectorToken: CollectorAccount}

// supersede compares the data of a Secret at the host with the data that takes its place. It returns the new value of
// SecretSuperseded: the tokens that were replaced or lost, to be revoked once their successors have worked. It leaves out the tokens of an
// account of which the new data has no token: either the join has deleted that account, or the host may not revoke its tokens.
func supersede(data, by map[string][]byte, lost []tokenSecret) []byte {
	lines := strings.Fields(string(data[v1alpha1.SecretSuperseded]))
	for _, s := range lost {
		lines = append(lines, s.String())
	}
	for key, account := range tokenKeys {
		if had, err := readToken(string(data[key])); err == nil && had.secret.known() {
			lines = append(lines, had.secret.String())
		}
		now, err := readToken(string(by[key]))
		lines = slices.DeleteFunc(lines, func(l string) bool {
			// If the new token's Secret has the name of a listed one, the listed one is gone.
			return err == nil && strings.HasPrefix(l, now.secret.name+"/") || len(by[key]) == 0 && strings.HasPrefix(l, account+"-")
		})
	}
	return []byte(strings.Join(sorted(lines), "\n"))
}

// setSuperseded writes supersede's answer into the data that takes the place of the Secret's. lost are Secrets on the
// member whose tokens the host does not hold: their tokens are to be revoked too.
func setSuperseded(data, by map[string][]byte, lost ...tokenSecret) {
	if by[v1alpha1.SecretSuperseded] = supersede(data, by, lost); len(by[v1alpha1.SecretSuperseded]) == 0 {
		delete(by, v1alpha1.SecretSuperseded)
	}
}

// Revoke revokes the tokens that the present tokens in the Secret have replaced: it deletes the Secrets on the member to which they are
// bound. Call it with a connection that uses the host's present token. If the member accepts the deletion, that token works. The
// collector's present token was tried before it was stored.
func Revoke(ctx context.Context, host, member client.Client, secret *corev1.Secret) error {
	lines := strings.Fields(string(secret.Data[v1alpha1.SecretSuperseded]))
	if len(lines) == 0 {
		return nil
	}
	current, err := readToken(string(secret.Data[v1alpha1.SecretToken]))
	if err != nil {
		return nil //nolint:nilerr // a person has put other credentials there, and the earlier tokens may be in use
	}
	collector, _ := readToken(string(secret.Data[v1alpha1.SecretCollectorToken])) // zero for none
	var left []string
	var errs []error
	for _, line := range lines {
		name, uid, _ := strings.Cut(line, "/")
		old := tokenSecret{name: name, uid: types.UID(uid)}
		if !old.known() || old == current.secret || old == collector.secret {
			continue
		}
		// If the member refuses one deletion, the other tokens are still revoked. A member that an older hostctl joined may refuse.
		if err := dropTokenSecret(ctx, member, old); err != nil {
			left, errs = append(left, line), append(errs, err)
		}
	}
	if len(left) == len(lines) {
		return errors.Join(errs...)
	}
	next := secret.DeepCopy()
	if delete(next.Data, v1alpha1.SecretSuperseded); len(left) > 0 {
		next.Data[v1alpha1.SecretSuperseded] = []byte(strings.Join(left, "\n"))
	}
	if err := host.Update(ctx, next); err != nil {
		errs = append(errs, fmt.Errorf("noting in Secret %s that the earlier tokens are revoked: %w", secret.Name, err))
	}
	return errors.Join(errs...)
}
