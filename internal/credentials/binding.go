// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"net/url"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Binding names the member, and the connection to it, for which the manager may use the credentials in a Secret.
type Binding struct {
	// Cluster is the name of the MemberCluster.
	Cluster string
	// Endpoint is the URL of the member's API server.
	Endpoint string
	// CA is the PEM bundle that verifies the certificate of the API server. If it is empty, the system's roots verify the
	// certificate.
	CA []byte
	// TLSServerName is the name that the certificate must have. If it is "", the certificate must have the host name in
	// Endpoint.
	TLSServerName string
	// ProxyURL is the URL of the proxy for the connection, with user and password; "" for no proxy.
	ProxyURL string
}

// BindingOf reads the binding from a Secret. A join of an earlier version wrote only the endpoint and the CA. Such a
// Secret is for the member of the Secret's own name, without a proxy and a server name.
func BindingOf(secret *corev1.Secret) Binding {
	return Binding{
		Cluster:       cmp.Or(string(secret.Data[v1alpha1.SecretCluster]), secret.Name),
		Endpoint:      string(secret.Data[v1alpha1.SecretEndpoint]),
		CA:            secret.Data[v1alpha1.SecretCA],
		TLSServerName: string(secret.Data[v1alpha1.SecretTLSServerName]),
		ProxyURL:      string(secret.Data[v1alpha1.SecretProxyURL]),
	}
}

// Data returns the binding as the data of a Secret. An empty field has no key.
func (b Binding) Data() map[string][]byte {
	data := make(map[string][]byte)
	for key, value := range map[string][]byte{
		v1alpha1.SecretCluster: []byte(b.Cluster), v1alpha1.SecretEndpoint: []byte(b.Endpoint), v1alpha1.SecretCA: b.CA,
		v1alpha1.SecretTLSServerName: []byte(b.TLSServerName), v1alpha1.SecretProxyURL: []byte(b.ProxyURL),
	} {
		if len(value) > 0 {
			data[key] = value
		}
	}
	return data
}

// IsFor reports whether a Secret holds the credentials for this member.
func IsFor(secret *corev1.Secret, cluster string) bool {
	return secret.Type == v1alpha1.SecretTypeMember && BindingOf(secret).Cluster == cluster
}

// CertificateWins reports whether a Secret has a client certificate and also a token of the collector's account. An API
// server then uses the certificate and ignores the token, so the collector would act as the user of the certificate.
func CertificateWins(secret *corev1.Secret) bool {
	return len(secret.Data[v1alpha1.SecretCert]) > 0 && len(secret.Data[v1alpha1.SecretCollectorToken]) > 0
}

// WithoutUser returns a URL without user and password, so that everyone may read it. It returns "" if raw is no URL.
func WithoutUser(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return ""
	case u.User == nil:
		return raw
	}
	u.User = nil
	return u.String()
}

// HasUser reports whether a URL contains a user or a password.
func HasUser(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.User != nil
}
