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

// keyBytes is the length of a new key in bytes, as for HMAC-SHA256. The manager refuses a shorter key.
const keyBytes = 32

// sealKey returns the key with which the manager seals Deliveries. If the key is lost, the manager cannot verify the
// seals of earlier Deliveries. That has an effect only if a wrapper is lost too and is created again: the manager then
// holds the wrapper's pairs and does not adopt their Deliveries.
func sealKey(ctx context.Context, host client.Client) ([]byte, error) {
	return hostKey(ctx, host, v1alpha1.SealSecret, v1alpha1.SecretSealKey, "seals Deliveries")
}

// historyKey returns the key with which the manager encrypts each revision that contains a Secret, and attests the
// authors of revisions (AnnotationAuthor). If the key is lost, the manager cannot read the revisions that it encrypted
// earlier, and records an event. It also ignores the authors that it attested with the lost key.
func historyKey(ctx context.Context, host client.Client) (*revision.HistoryKey, error) {
	key, err := hostKey(ctx, host, v1alpha1.HistorySecret, v1alpha1.SecretHistoryKey, "encrypts revisions")
	if err != nil {
		return nil, err
	}
	return revision.NewHistoryKey(key)
}

// hostKey reads a key from a Secret in namespace fairlead-system of the host. If that Secret does not exist, because
// this is the first start or because the Secret was lost, hostKey creates it with a new key. The manager calls hostKey
// once at its start for each key.
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
		if apierrors.IsAlreadyExists(err) { // another manager created the Secret first: use the key in that Secret
			err = host.Get(ctx, name, secret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s, which has the key that %s: %w", name, use, err)
	}
	key := secret.Data[field]
	if len(key) < keyBytes {
		return nil, fmt.Errorf("reading Secret %s: its %s has %d bytes, not %d. Restore the Secret from a backup, or delete the Secret: the manager makes a new key at its next start",
			name, field, len(key), keyBytes)
	}
	return key, nil
}

func newKey() []byte {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // crypto/rand never fails
	return key
}
