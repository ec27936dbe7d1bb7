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

// tokenSecrets returns the names that the token Secrets of an account may have. A token Secret has no data: the member's
// API server refuses a token once the Secret to which it is bound is deleted. There are several names, so that a renewal by
// the manager and a join at the same time use different token Secrets. The names are fixed, so that a Role can allow the
// host to delete these Secrets and no others.
func tokenSecrets(account string) []string {
	return []string{account + "-token-1", account + "-token-2", account + "-token-3", account + "-token-4"}
}

// allTokenSecrets returns the names of the token Secrets of both accounts.
func allTokenSecrets() []string {
	return slices.Concat(tokenSecrets(HostAccount), tokenSecrets(CollectorAccount))
}

// tokenSecret identifies a token Secret on the member. It is empty for a token that is bound to no Secret.
type tokenSecret struct {
	name string
	uid  types.UID
}

func (s tokenSecret) String() string { return s.name + "/" + string(s.uid) }

// known reports whether the name is one of the names of token Secrets, and the uid has the form of a uid. Both can come
// from a token that the member issued, and the host does not trust the member.
func (s tokenSecret) known() bool {
	return slices.Contains(allTokenSecrets(), s.name) && len(s.uid) > 0 && len(s.uid) <= 64 && !strings.ContainsAny(string(s.uid), "/\n\t ")
}

// issue asks the member for a token of an account, bound to a new token Secret. current is the token that the host has. If
// all names of token Secrets are in use, issue calls giveUp with one of the names, and then deletes the Secret of that
// name. If the Role of an earlier version does not let the host create Secrets, the token is bound to none.
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
		// The earlier account owns the new token Secret, so the member's garbage collector is about to delete it, which
		// revokes the token.
		err = fmt.Errorf("the member's service account %s was replaced while the host requested a token: run `hostctl join NAME --cluster-kubeconfig FILE` again", account.Name)
	}
	if err != nil {
		return credential{}, errors.Join(err, dropTokenSecret(ctx, member, held))
	}
	return got, nil
}

// lacksTheRight reports whether RBAC refused to create a token Secret. issue then requests a token without one, because the
// next join grants the right. If a quota or an admission policy refused the Secret, a join would not help, and issue
// returns an error. It does not request an unbound token then: the host could revoke such a token only by deleting its
// account.
func lacksTheRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `cannot create resource "secrets"`)
}

// holdTokenSecret creates the token Secret for the next token. The host may not read Secrets, so it tries one name after
// the other until a name is free. If no name is free, earlier joins or managers were killed before they stored their tokens
// at the host. holdTokenSecret then deletes the token Secret of one such token first.
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
			return tokenSecret{}, fmt.Errorf("creating Secret %s/%s for a token: %w", v1alpha1.SystemNamespace, name, err)
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
	return tokenSecret{}, fmt.Errorf("creating a Secret for a token in %s: other clients created %s at the same time. Try again", v1alpha1.SystemNamespace, list(names))
}

// dropTokenSecret deletes the Secret to which a token is bound, which revokes the token. If s has a uid, dropTokenSecret
// does not delete a newer Secret of the same name.
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

// tokenKeys has the keys of the Secret at the host that hold tokens, with the account of each token.
var tokenKeys = map[string]string{v1alpha1.SecretToken: HostAccount, v1alpha1.SecretCollectorToken: CollectorAccount}

// supersede returns the new list of tokens to revoke in the Secret at the host (key SecretSuperseded). Revoke deletes the
// listed token Secrets after the new tokens have worked. The argument data is the present data of the Secret at the host,
// and the argument by is its new data.
//
// The new list has the lines of the present list, the token Secrets in lost, and those of the tokens that the new data
// replaces. If the new data has no token of an account, the list has no token Secret of that account: either the join has
// deleted the account, or the host may not revoke its tokens.
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
			// A new token Secret can have a listed name only after the listed Secret of that name was deleted.
			return err == nil && strings.HasPrefix(l, now.secret.name+"/") || len(by[key]) == 0 && strings.HasPrefix(l, account+"-")
		})
	}
	return []byte(strings.Join(sorted(lines), "\n"))
}

// setSuperseded stores the list that supersede returns in the argument by, the new data of the Secret at the host. The
// argument lost has token Secrets on the member whose tokens the host does not have.
func setSuperseded(data, by map[string][]byte, lost ...tokenSecret) {
	if by[v1alpha1.SecretSuperseded] = supersede(data, by, lost); len(by[v1alpha1.SecretSuperseded]) == 0 {
		delete(by, v1alpha1.SecretSuperseded)
	}
}

// Revoke revokes the tokens that newer tokens have replaced: it deletes the token Secrets that the Secret at the host
// lists. The client member has to use the host's present token, so that a deletion that succeeds proves that this token
// works. The collector's present token needs no such proof, because a join or Renew tried it before storing it.
func Revoke(ctx context.Context, host, member client.Client, secret *corev1.Secret) error {
	lines := strings.Fields(string(secret.Data[v1alpha1.SecretSuperseded]))
	if len(lines) == 0 {
		return nil
	}
	current, err := readToken(string(secret.Data[v1alpha1.SecretToken]))
	if err != nil {
		return nil //nolint:nilerr // a person has put other credentials into the Secret, and other programs may still use the earlier tokens
	}
	collector, _ := readToken(string(secret.Data[v1alpha1.SecretCollectorToken])) // without a token the result is the zero value
	var left []string
	var errs []error
	for _, line := range lines {
		name, uid, _ := strings.Cut(line, "/")
		old := tokenSecret{name: name, uid: types.UID(uid)}
		if !old.known() || old == current.secret || old == collector.secret {
			continue
		}
		// If the member refuses one deletion, Revoke still deletes the other token Secrets. A member that an older hostctl
		// joined may refuse the deletion of some of them.
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
		errs = append(errs, fmt.Errorf("recording in Secret %s that the earlier tokens are revoked: %w", secret.Name, err))
	}
	return errors.Join(errs...)
}
