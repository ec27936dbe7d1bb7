// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

func sealSecret(key []byte) *corev1.Secret {
	s := &corev1.Secret{Data: map[string][]byte{v1alpha1.SecretSealKey: key}}
	s.Namespace, s.Name = v1alpha1.SystemNamespace, v1alpha1.SealSecret
	return s
}

func TestTheKeyOfSealsIsMadeOnceAndKept(t *testing.T) {
	host := fake.NewClientBuilder().WithScheme(member.Scheme).Build()
	first, err := sealKey(t.Context(), host)
	if err != nil || len(first) != keyBytes || bytes.Equal(first, make([]byte, keyBytes)) {
		t.Fatalf("the first start made key %x, %v", first, err)
	}
	again, err := sealKey(t.Context(), host)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("a second start reads key %x, %v, want the same", again, err)
	}
}

func TestTheKeyOfTheManagerThatWasFasterCounts(t *testing.T) {
	theirs := bytes.Repeat([]byte{7}, keyBytes)
	host := fake.NewClientBuilder().WithScheme(member.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := c.Create(ctx, sealSecret(theirs)); err != nil {
				return err
			}
			return c.Create(ctx, obj, opts...)
		},
	}).Build()
	if got, err := sealKey(t.Context(), host); err != nil || !bytes.Equal(theirs, got) {
		t.Errorf("got %x, %v", got, err)
	}
}

// A short key could be guessed. With an empty key, anyone could make a seal.
func TestAKeyThatIsNoneStopsTheManager(t *testing.T) {
	for name, key := range map[string][]byte{"no key": nil, "a short one": []byte("secret")} {
		t.Run(name, func(t *testing.T) {
			host := fake.NewClientBuilder().WithScheme(member.Scheme).WithObjects(sealSecret(key)).Build()
			if got, err := sealKey(t.Context(), host); err == nil || !strings.Contains(err.Error(), "delete the Secret") {
				t.Errorf("got %x, %v", got, err)
			}
		})
	}
}
