// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
)

// keyBytes is the length of an HMAC-SHA256. The manager refuses a shorter key.
const keyBytes = 32

// sealKey is the key that Deliveries are sealed with. With another key the manager does not recognise the seals of earlier
// Deliveries. That matters only where a wrapper was lost too: then its pairs are held.
func sealKey(ctx context.Context, host client.Client) ([]byte, error) {
	return hostKey(ctx, host, v1alpha1.SealSecret, v1alpha1.SecretSealKey, "Deliveries are sealed with")
}

// historyKey is the key that encrypts revisions that hold a Secret. With another key they cannot be read, and the manager
// records an event. Nothing else needs them.
func historyKey(ctx context.Context, host client.Client) (*revision.HistoryKey, error) {
	key, err := hostKey(ctx, host, v1alpha1.HistorySecret, v1alpha1.SecretHistoryKey, "revisions are encrypted with")
	if err != nil {
		return nil, err
	}
	return revision.NewHistoryKey(key)
}

// hostKey reads a key of the host, once in the life of a process. It makes a key where there is none: at the first start,
// or when the Secret was lost.
func hostKey(ctx context.Context, host client.Client, secretName, field, use string) ([]byte, error) {
	name := client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: secretName}
	secret := &corev1.Secret{}
	err := host.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		made := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{field: newKey()}}
		made.Namespace, made.Name = name.Namespace, name.Name
		if err = host.Create(ctx, made); err == nil {
			return made.Data[field], nil
		}
		if apierrors.IsAlreadyExists(err) { // another manager was faster: its key counts
			err = host.Get(ctx, name, secret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s, which holds the key that %s: %w", name, use, err)
	}
	key := secret.Data[field]
	if len(key) < keyBytes {
		return nil, fmt.Errorf("reading Secret %s: its %s has %d bytes, not %d. Restore the Secret from a backup. Or delete it: the manager then makes a new key",
			name, field, len(key), keyBytes)
	}
	return key, nil
}

func newKey() []byte {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}
