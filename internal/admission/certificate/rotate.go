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
	// Secret is the name of the Secret in fairlead-system with the certificate, its key, and the authority that signs the
	// certificate. The name contains a dot. A Secret with a member's credentials has the name of the member, which
	// contains no dot, so the names never collide.
	Secret = "webhook.tls"
	// Service is the name of the Service in fairlead-system by which the API server calls the webhooks.
	Service = "fairlead-webhook"
	// configuration is the name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration.
	configuration = "fairlead"
)

// Rotation has the settings for the renewal of the certificate. In production the three durations are 0.
type Rotation struct {
	// Dir is the folder where the Secret is mounted.
	Dir string
	// Names are DNS names in the certificate in addition to the name of the Service.
	Names []string
	// Lifetime is how long a certificate is valid; 0 means one year.
	Lifetime time.Duration
	// Ahead is the time before the expiry of a certificate at which the leader renews it; 0 means 90 days.
	Ahead time.Duration
	// Every is the interval at which the leader checks whether the renewal is due; 0 means 12 hours.
	Every time.Duration
}

// Rotate makes the leader create the certificate, renew it, and write its authority into the webhook configurations. Call
// it before the manager starts. Rotate creates the Secret itself, because the rotator of cert-controller stops the whole
// manager if the Secret does not exist.
func Rotate(ctx context.Context, mgr manager.Manager, r Rotation) error {
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = v1alpha1.SystemNamespace, Secret
	if err := mgr.GetClient().Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Secret %s/%s for the certificate of the webhooks: %w", secret.Namespace, secret.Name, err)
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
		FieldOwner:            "fairlead-manager",
		RequireLeaderElection: true,
		// The rotator closes this channel when the certificate is ready. The manager does not wait for that, because its
		// readiness probe calls the webhooks' server.
		IsReady:                make(chan struct{}),
		ServerCertDuration:     r.Lifetime,
		LookaheadInterval:      r.Ahead,
		RotationCheckFrequency: r.Every,
	})
	if err != nil {
		return fmt.Errorf("adding the rotator of the webhooks' certificate: %w", err)
	}
	return nil
}
