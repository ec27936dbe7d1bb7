// SPDX-License-Identifier: Apache-2.0

package tokens

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
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// tokenSecret identifies a token Secret on the member. It is empty for a token that is bound to no Secret.
type tokenSecret struct {
	name string
	uid  types.UID
}

func (s tokenSecret) String() string { return s.name + "/" + string(s.uid) }

// known reports whether the name is one of the names of token Secrets, and the uid has the form of a uid. Both can come
// from a token that the member issued, and the host does not trust the member.
func (s tokenSecret) known() bool {
	return slices.Contains(permissions.AllTokenSecrets(), s.name) && len(s.uid) > 0 && len(s.uid) <= 64 && !strings.ContainsAny(string(s.uid), "/\n\t ")
}

// issue asks the member for a token of an account, bound to a new token Secret. current is the token that the host has. If
// all names of token Secrets are in use, issue calls giveUp with one of the names, and then deletes the Secret of that
// name. If the Role of an earlier version does not let the host create Secrets, the token is bound to none.
func issue(
	ctx context.Context, member client.Client, account *corev1.ServiceAccount, current Credential, giveUp func(ctx context.Context, name string) error,
) (Credential, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLifetime / time.Second))}}
	held, err := holdTokenSecret(ctx, member, account, current, giveUp)
	switch {
	case lacksTheRight(err):
	case err != nil:
		return Credential{}, err
	default:
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: held.name, UID: held.uid}
	}
	err = member.SubResource("token").Create(ctx, account, request)
	if err != nil {
		return Credential{}, errors.Join(err, dropTokenSecret(ctx, member, held))
	}
	got, err := Read(request.Status.Token)
	if err == nil && account.UID != "" && got.Account != account.UID {
		// The earlier account owns the new token Secret, so the member's garbage collector is about to delete it, which
		// revokes the token.
		err = fmt.Errorf("the member's service account %s was replaced while the host requested a token: run `hostctl join NAME --cluster-kubeconfig FILE` again", account.Name)
	}
	if err != nil {
		return Credential{}, errors.Join(err, dropTokenSecret(ctx, member, held))
	}
	return got, nil
}

// lacksTheRight reports whether RBAC refused to create a token Secret. issue then requests a token that is bound to no
// Secret, because the next join grants the right. If a quota or an admission policy refused the token Secret, a join would
// not help, so issue returns an error. It requests no unbound token in that case, because the host could revoke such a
// token only by deleting its account.
func lacksTheRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `cannot create resource "secrets"`)
}

// holdTokenSecret creates the token Secret for the next token. The host has no right to read Secrets, so holdTokenSecret
// tries one name after the other until a name is free. If no name is free, earlier joins or managers were killed before
// they stored their tokens at the host. holdTokenSecret then deletes the token Secret of one such token first.
func holdTokenSecret(
	ctx context.Context, member client.Client, account *corev1.ServiceAccount, current Credential, giveUp func(ctx context.Context, name string) error,
) (tokenSecret, error) {
	names := slices.DeleteFunc(permissions.TokenSecrets(account.Name), func(name string) bool { return name == current.secret.name })
	for _, name := range append(slices.Clone(names), names[0]) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name},
			Type: corev1.SecretTypeOpaque, Immutable: ptr.To(true)}
		cluster.BelongTo(secret, account)
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
	return tokenSecret{}, fmt.Errorf("creating a Secret for a token in %s: other clients created %s at the same time. Try again", v1alpha1.SystemNamespace, strings.Join(names, ", "))
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
	if err == nil || cluster.Absent(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting Secret %s/%s, which revokes the token that is bound to it: %w", v1alpha1.SystemNamespace, s.name, err)
}

// boundSecrets are the token Secrets on the member, of the host's account and of the collector's account.
type boundSecrets struct {
	// unknown is true if the user of hostctl has no right to list Secrets on the member; found is then empty.
	unknown bool
	found   []tokenSecret
}

// mayHold reports whether the token Secret s can exist, so that the token bound to it can be valid. It returns true if the
// join cannot list the token Secrets.
func (b boundSecrets) mayHold(s tokenSecret) bool { return b.unknown || slices.Contains(b.found, s) }

// listTokenSecrets lists the token Secrets of both accounts on the member.
func listTokenSecrets(ctx context.Context, member cluster.Cluster, accounts Accounts) (boundSecrets, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := member.Client.List(ctx, list, client.InNamespace(v1alpha1.SystemNamespace))
	if apierrors.IsForbidden(err) {
		return boundSecrets{unknown: true}, nil
	}
	if err != nil {
		return boundSecrets{}, fmt.Errorf("listing the Secrets on %s that tokens are bound to: %w", member.Name, err)
	}
	var b boundSecrets
	for i := range list.Items {
		at := &list.Items[i]
		isOwned := slices.ContainsFunc(at.OwnerReferences, func(ref metav1.OwnerReference) bool {
			return ref.UID != "" && (ref.UID == accounts.Host.UID || ref.UID == accounts.Collector.UID)
		})
		if s := (tokenSecret{at.Name, at.UID}); isOwned && s.known() && at.DeletionTimestamp == nil {
			b.found = append(b.found, s)
		}
	}
	return b, nil
}
