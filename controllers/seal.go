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
)

// sealKeyBytes is as long as what HMAC-SHA256 brings out; a shorter key is not taken for one.
const sealKeyBytes = 32

// sealKey reads the key that Deliveries are sealed with, and makes it where there is none: at the first
// start, or when the Secret was lost. It is read once in the life of a process. With another key no Delivery
// that was sealed before is known again, which matters only where a wrapper was lost too: then it is held.
func sealKey(ctx context.Context, host client.Client) ([]byte, error) {
	name := client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: v1alpha1.SealSecret}
	secret := &corev1.Secret{}
	err := host.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		made := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{v1alpha1.SecretSealKey: newKey()}}
		made.Namespace, made.Name = name.Namespace, name.Name
		if err = host.Create(ctx, made); err == nil {
			return made.Data[v1alpha1.SecretSealKey], nil
		}
		if apierrors.IsAlreadyExists(err) { // another manager was faster: its key counts
			err = host.Get(ctx, name, secret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s, which holds the key that Deliveries are sealed with: %w", name, err)
	}
	key := secret.Data[v1alpha1.SecretSealKey]
	if len(key) < sealKeyBytes {
		return nil, fmt.Errorf("reading Secret %s: its %s has %d bytes, not %d: restore the Secret from a backup; or delete it, and a new key is made",
			name, v1alpha1.SecretSealKey, len(key), sealKeyBytes)
	}
	return key, nil
}

func newKey() []byte {
	key := make([]byte, sealKeyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}
