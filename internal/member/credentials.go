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
	"github.com/fairlead-dev/fairlead/internal/credentials"
)

// CredentialsError tells why the manager cannot connect to a member with its MemberCluster and its Secret.
type CredentialsError struct {
	// Reason is ReasonCredentialsMissing, ReasonEndpointMismatch or ReasonUnreachable. ReasonUnreachable means that the
	// endpoint or the proxy URL is not a URL, so the manager cannot send a request.
	Reason string
	// Message tells the person on call what to do.
	Message string
}

func (e *CredentialsError) Error() string { return e.Message }

// ConfigFor makes the client configuration for a member from its MemberCluster and its Secret. The credentials in the
// Secret are bound to one member and one address. ConfigFor returns a *CredentialsError in three cases. The Secret is
// absent or incomplete. The MemberCluster differs from the binding. Or a field of the MemberCluster or of the Secret makes
// every connection impossible.
func ConfigFor(mc *v1alpha1.MemberCluster, secret *corev1.Secret, userAgent string) (*rest.Config, error) {
	where := v1alpha1.SystemNamespace + "/" + mc.Spec.CredentialsRef.Name
	if secret == nil {
		return nil, &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf(
			"Secret %s does not exist: run `hostctl join %s --cluster-kubeconfig FILE` again to make it, or restore the former spec.credentialsRef", where, mc.Name)}
	}
	if secret.Type != v1alpha1.SecretTypeMember {
		return nil, &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf(
			"Secret %s is of type %q, not %q: run `hostctl join %s --cluster-kubeconfig FILE` again", where, secret.Type, v1alpha1.SecretTypeMember, mc.Name)}
	}
	bound := credentials.BindingOf(secret)
	if why := mismatch(mc, bound, where); why != "" {
		return nil, &CredentialsError{v1alpha1.ReasonEndpointMismatch, why}
	}
	config := &rest.Config{
		Host:      bound.Endpoint,
		UserAgent: userAgent,
		// -1 turns off client-go's own limit, which is five requests a second by default. The member's API server limits
		// the host by priority and fairness, and client-go obeys the Retry-After of its 429 responses.
		QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: bound.TLSServerName,
			CAData:     mc.Spec.CABundle,
			CertData:   secret.Data[v1alpha1.SecretCert],
			KeyData:    secret.Data[v1alpha1.SecretKey],
		},
		BearerToken: string(secret.Data[v1alpha1.SecretToken]),
	}
	if config.BearerToken == "" && (len(config.CertData) == 0 || len(config.KeyData) == 0) {
		return nil, &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf(
			"Secret %s has neither %s nor %s and %s: run `hostctl join %s --cluster-kubeconfig FILE` again",
			where, v1alpha1.SecretToken, v1alpha1.SecretCert, v1alpha1.SecretKey, mc.Name)}
	}
	if bound.ProxyURL != "" {
		proxy, err := url.Parse(bound.ProxyURL)
		if err != nil { // the message leaves out err, which would show the URL with its password
			return nil, &CredentialsError{v1alpha1.ReasonUnreachable, fmt.Sprintf(
				"%s of Secret %s is no URL: run `hostctl join %s --cluster-kubeconfig FILE --proxy-url URL` again", v1alpha1.SecretProxyURL, where, mc.Name)}
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	if refusal := unusable(mc, config, where); refusal != nil {
		return nil, refusal
	}
	return config, nil
}

// mismatch returns a message about the first difference between a MemberCluster and the binding of the credentials; ""
// if they agree. Without this check, a user who can edit MemberClusters could have the manager send the credentials to
// another member, or to a server of that user.
func mismatch(mc *v1alpha1.MemberCluster, bound credentials.Binding, where string) string {
	switch spec := mc.Spec; {
	case bound.Cluster != mc.Name:
		return fmt.Sprintf("restore the former spec.credentialsRef, or run `hostctl join %s --cluster-kubeconfig FILE` again: "+
			"the credentials in Secret %s are for the member %s and are not used for this one",
			mc.Name, where, bound.Cluster)
	case bound.Endpoint != spec.Endpoint:
		return fmt.Sprintf("restore the former spec.endpoint, or run `hostctl join %s --cluster-kubeconfig FILE --server URL` with the new URL: "+
			"the credentials in Secret %s are for %q and are not sent to %q",
			mc.Name, where, bound.Endpoint, spec.Endpoint)
	case !bytes.Equal(bytes.TrimSpace(bound.CA), bytes.TrimSpace(spec.CABundle)):
		return fmt.Sprintf("restore the former spec.caBundle, or run `hostctl join %s --cluster-kubeconfig FILE` again: the credentials in Secret %s are for another "+
			"certificate authority and are not sent",
			mc.Name, where)
	case bound.TLSServerName != spec.TLSServerName:
		return fmt.Sprintf("restore the former spec.tlsServerName, or run `hostctl join %s --cluster-kubeconfig FILE` again with a kubeconfig that has the tls-server-name: "+
			"the credentials in Secret %s are for the server name %q and are not sent to %q", mc.Name, where, bound.TLSServerName, spec.TLSServerName)
	case credentials.HasUser(spec.ProxyURL):
		return fmt.Sprintf("take user and password out of spec.proxyURL, because everyone who can read MemberClusters sees them there. Run `hostctl join %s "+
			"--cluster-kubeconfig FILE --proxy-url URL` again, which puts them into Secret %s", mc.Name, where)
	case spec.ProxyURL == "" && bound.ProxyURL != "":
		return fmt.Sprintf("restore the former spec.proxyURL, or run `hostctl join %s --cluster-kubeconfig FILE --proxy-url none`: the credentials in Secret %s are for %s",
			mc.Name, where, proxyText(bound.ProxyURL))
	case credentials.WithoutUser(bound.ProxyURL) != spec.ProxyURL:
		return fmt.Sprintf("restore the former spec.proxyURL, or run `hostctl join %s --cluster-kubeconfig FILE --proxy-url URL` again: the credentials in Secret %s "+
			"are for %s and are not sent through %q",
			mc.Name, where, proxyText(bound.ProxyURL), spec.ProxyURL)
	}
	return ""
}

func proxyText(raw string) string {
	if raw == "" {
		return "a connection without a proxy"
	}
	return fmt.Sprintf("the proxy %q", credentials.WithoutUser(raw))
}

// unusable returns an error if a field of the MemberCluster or of the Secret makes every connection impossible,
// whatever server answers. Without this check, the manager would retry forever, and the status would keep its old
// state.
func unusable(mc *v1alpha1.MemberCluster, config *rest.Config, where string) *CredentialsError {
	again := fmt.Sprintf("run `hostctl join %s --cluster-kubeconfig FILE` again, or restore the former value", mc.Name)
	if _, _, err := rest.DefaultServerUrlFor(config); err != nil {
		return &CredentialsError{v1alpha1.ReasonUnreachable, fmt.Sprintf("spec.endpoint is not a usable URL: %s: %v", again, err)}
	}
	if ca := config.CAData; len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return &CredentialsError{v1alpha1.ReasonCredentialsMissing, "spec.caBundle holds no certificate in PEM: " + again}
	}
	if _, err := rest.TLSConfigFor(config); err != nil {
		return &CredentialsError{v1alpha1.ReasonCredentialsMissing, fmt.Sprintf("%s and %s of Secret %s do not belong together, or are not PEM: %s: %v",
			v1alpha1.SecretCert, v1alpha1.SecretKey, where, again, err)}
	}
	return nil
}

// AsCredentialsError finds a *CredentialsError in an error. It returns nil if err contains none.
func AsCredentialsError(err error) *CredentialsError {
	var found *CredentialsError
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// proxyOf returns the URL of a configuration's proxy, or nil if the configuration has no proxy.
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
