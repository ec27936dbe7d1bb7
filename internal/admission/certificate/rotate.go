// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"fmt"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// Secret is the Secret in fairlead-system with the certificate, its key, and the authority that signs it. Secrets
	// of credentials have the names of members. No member's name has a dot, so the names never collide.
	Secret = "webhook.tls"
	// Service is the Service in fairlead-system by which the API server calls the webhooks.
	Service = "fairlead-webhook"
	// configuration is the name of both webhook configurations.
	configuration = "fairlead"
)

// Rotation describes the renewal of the certificate. The zero value is for production: a certificate lives a year and
// is renewed 90 days before its end.
type Rotation struct {
	// Dir is the folder where the Secret is mounted.
	Dir string
	// Names are further names of the server, beside that of the Service.
	Names []string
	// Lifetime is the lifetime of a certificate. The leader renews it when less than Ahead is left. It checks that at
	// the interval Every.
	Lifetime, Ahead, Every time.Duration
}

// Rotate makes the leader create the certificate, renew it, and write its authority into the webhook configurations.
// Call it before the manager starts. Rotate creates the Secret itself, because the rotator ends the whole manager when
// there is no Secret.
func Rotate(ctx context.Context, mgr manager.Manager, r Rotation) error {
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = v1alpha1.SystemNamespace, Secret
	if err := mgr.GetClient().Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making Secret %s/%s for the certificate of the webhooks: %w", secret.Namespace, secret.Name, err)
	}
	err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:     client.ObjectKeyFromObject(secret),
		CertDir:       r.Dir,
		CAName:        "fairlead-webhook-ca",
		DNSName:       Service + "." + v1alpha1.SystemNamespace + ".svc",
		ExtraDNSNames: r.Names,
		Webhooks: []rotator.WebhookInfo{
			{Name: configuration, Type: rotator.Mutating},
			{Name: configuration, Type: rotator.Validating},
		},
		FieldOwner:             "fairlead-manager",
		RequireLeaderElection:  true,
		IsReady:                make(chan struct{}), // the rotator closes it; the readiness probe asks the server itself
		ServerCertDuration:     r.Lifetime,
		LookaheadInterval:      r.Ahead,
		RotationCheckFrequency: r.Every,
	})
	if err != nil {
		return fmt.Errorf("adding the rotator of the webhooks' certificate: %w", err)
	}
	return nil
}
