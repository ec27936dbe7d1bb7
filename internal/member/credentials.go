// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// CredentialsError says why a member's credentials cannot be used at all.
type CredentialsError struct {
	// Reason is ReasonCredentialsMissing, ReasonEndpointMismatch, or ReasonUnreachable where it is not the credentials.
	Reason string
	// Message says what to do.
	Message string
}

func (e *CredentialsError) Error() string { return e.Message }

// ConfigFor makes the client configuration for a member out of its registry entry and its Secret. A
// secret is only ever sent to the endpoint that it was made for. The error is a *CredentialsError
// when the Secret is absent, incomplete or for another endpoint, or nothing can be made of the entry.
func ConfigFor(mc *v1alpha1.MemberCluster, secret *corev1.Secret, userAgent string) (*rest.Config, error) {
	where := v1alpha1.SystemNamespace + "/" + mc.Spec.CredentialsRef.Name
	if secret == nil {
		return nil, &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf(
			"Secret %s is not there: run `hostctl join %s` again to make it, or put spec.credentialsRef back", where, mc.Name)}
	}
	if secret.Type != v1alpha1.SecretTypeMember {
		return nil, &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf(
			"Secret %s is of type %q, not %q: run `hostctl join %s` again", where, secret.Type, v1alpha1.SecretTypeMember, mc.Name)}
	}
	if for_ := string(secret.Data[v1alpha1.SecretEndpoint]); for_ != mc.Spec.Endpoint {
		return nil, &CredentialsError{v1alpha1.ReasonEndpointMismatch, fmt.Sprintf(
			"put spec.endpoint back, or run `hostctl join %s` again for the new one: the credentials in Secret %s are for %q and are not sent to %q",
			mc.Name, where, for_, mc.Spec.Endpoint)}
	}
	if !bytes.Equal(bytes.TrimSpace(secret.Data[v1alpha1.SecretCA]), bytes.TrimSpace(mc.Spec.CABundle)) {
		// Who may edit a MemberCluster could else have the token sent to a server of their own.
		return nil, &CredentialsError{v1alpha1.ReasonEndpointMismatch, fmt.Sprintf(
			"put spec.caBundle back, or run `hostctl join %s` again: the credentials in Secret %s are for another certificate authority and are not sent",
			mc.Name, where)}
	}
	config := &rest.Config{
		Host:      mc.Spec.Endpoint,
		UserAgent: userAgent,
		// The API server's own priority and fairness paces us, and its 429s are obeyed; a silent limit
		// of five requests a second would be ours alone.
		QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: mc.Spec.TLSServerName,
			CAData:     mc.Spec.CABundle,
			CertData:   secret.Data[v1alpha1.SecretCert],
			KeyData:    secret.Data[v1alpha1.SecretKey],
		},
		BearerToken: string(secret.Data[v1alpha1.SecretToken]),
	}
	if config.BearerToken == "" && (len(config.CertData) == 0 || len(config.KeyData) == 0) {
		return nil, &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf(
			"Secret %s has neither %s nor %s and %s: run `hostctl join %s` again",
			where, v1alpha1.SecretToken, v1alpha1.SecretCert, v1alpha1.SecretKey, mc.Name)}
	}
	if mc.Spec.ProxyURL != "" {
		proxy, err := url.Parse(mc.Spec.ProxyURL)
		if err != nil {
			return nil, &CredentialsError{v1alpha1.ReasonUnreachable, "spec.proxyURL is no URL: put it right: " + err.Error()}
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	if refusal := unusable(mc, config, where); refusal != nil {
		return nil, refusal
	}
	return config, nil
}

// unusable says what no connection can be made with, whoever answers: it would be tried again for ever, and the status
// would say what was true before.
func unusable(mc *v1alpha1.MemberCluster, config *rest.Config, where string) *CredentialsError {
	again := fmt.Sprintf("run `hostctl join %s` again, or put it back", mc.Name)
	if _, _, err := rest.DefaultServerUrlFor(config); err != nil {
		return &CredentialsError{v1alpha1.ReasonUnreachable, fmt.Sprintf("spec.endpoint leads nowhere: %s: %v", again, err)}
	}
	if ca := config.CAData; len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return &CredentialsError{v1alpha1.ReasonCredentialsMissing, "spec.caBundle holds no certificate in PEM: " + again}
	}
	if _, err := rest.TLSConfigFor(config); err != nil {
		return &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf("%s and %s of Secret %s are no certificate with its key: %s: %v",
			v1alpha1.SecretCert, v1alpha1.SecretKey, where, again, err)}
	}
	return nil
}

// AsCredentialsError finds a *CredentialsError in an error, nil when there is none.
func AsCredentialsError(err error) *CredentialsError {
	var found *CredentialsError
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// proxyOf is the proxy that a configuration goes through, nil for none.
func proxyOf(config *rest.Config) *url.URL {
	if config.Proxy == nil {
		return nil
	}
	to, err := config.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "member"}})
	if err != nil {
		return nil
	}
	return to
}
