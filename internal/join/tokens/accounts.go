// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// Accounts are the two service accounts of a join, as the member's API server returned them.
type Accounts struct{ Host, Collector *corev1.ServiceAccount }

// ReadAgain reads both accounts again, because another join may have replaced the collector's account. It returns an error
// if the host's account was replaced or deleted: that account owns the objects of this join, so only another join can
// repair the member.
func (a Accounts) ReadAgain(ctx context.Context, member cluster.Cluster) (Accounts, error) {
	for _, name := range []string{permissions.HostAccount, permissions.CollectorAccount} {
		account := cluster.ServiceAccount(name)
		err := member.Get(ctx, account)
		switch {
		case err != nil && !errors.Is(err, cluster.ErrAbsent):
			return a, fmt.Errorf("reading %s on %s: %w", cluster.Describe(account), member.Name, err)
		case err != nil, name == permissions.HostAccount && account.UID != a.Host.UID:
			return a, fmt.Errorf("another join or an unjoin deleted %s on %s at the same time: join again", cluster.Describe(account), member.Name)
		case name == permissions.CollectorAccount:
			a.Collector = account
		}
	}
	return a, nil
}

// ReadHostSecret reads the Secret at the host that holds the credentials of the member of this name. It returns nil if the
// Secret does not exist, and an error if a Secret of that name has another type or belongs to another member.
func ReadHostSecret(ctx context.Context, host cluster.Cluster, name string) (*corev1.Secret, error) {
	secret := hostSecret(name)
	switch err := host.Get(ctx, secret); {
	case errors.Is(err, cluster.ErrAbsent):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s at the host: %w", secret.Name, err)
	case secret.Type != v1alpha1.SecretTypeMember:
		return nil, fmt.Errorf("reading Secret %s/%s at the host: its type is %q, so no join made it. Choose another name for the member, or delete that Secret",
			secret.Namespace, secret.Name, secret.Type)
	case !credentials.IsFor(secret, name):
		return nil, fmt.Errorf("Secret %s/%s at the host: it holds the credentials of member %q. Join under another name, or delete the Secret if that member does not use it",
			secret.Namespace, secret.Name, credentials.BindingOf(secret).Cluster)
	}
	return secret, nil
}

func hostSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
}
