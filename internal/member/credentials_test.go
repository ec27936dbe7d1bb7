// SPDX-License-Identifier: Apache-2.0

package member

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestConfigFor(t *testing.T) {
	const endpoint = "https://10.0.0.7:6443"
	secret := func(pairs ...string) *corev1.Secret {
		s := &corev1.Secret{Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretCluster: []byte("east"),
			v1alpha1.SecretEndpoint: []byte(endpoint), v1alpha1.SecretProxyURL: []byte("http://me:secret@proxy:3128")}}
		for i := 0; i < len(pairs); i += 2 {
			s.Data[pairs[i]] = []byte(pairs[i+1])
		}
		return s
	}
	opaque := secret(v1alpha1.SecretToken, "t")
	opaque.Type = corev1.SecretTypeOpaque
	cert, key := keyPair(t)
	for name, test := range map[string]struct {
		secret *corev1.Secret
		reason string
		words  string
	}{
		"a token":              {secret: secret(v1alpha1.SecretToken, "t")},
		"a client certificate": {secret: secret(v1alpha1.SecretCert, cert, v1alpha1.SecretKey, key)},
		"no Secret": {secret: nil, reason: v1alpha1.ReasonCredentialsMissing,
			words: "fairlead-system/east-creds does not exist"},
		"a Secret of another type":      {secret: opaque, reason: v1alpha1.ReasonCredentialsMissing, words: `"Opaque"`},
		"neither token nor certificate": {secret: secret(), reason: v1alpha1.ReasonCredentialsMissing, words: "token"},
		"a certificate without its key": {secret: secret(v1alpha1.SecretCert, "c"), reason: v1alpha1.ReasonCredentialsMissing,
			words: "tls.key"},
		"a certificate that is no PEM": {secret: secret(v1alpha1.SecretCert, "c", v1alpha1.SecretKey, "k"), reason: v1alpha1.ReasonCredentialsMissing,
			words: "tls.crt and tls.key of Secret fairlead-system/east-creds do not belong together, or are not PEM"},
		"credentials for another endpoint": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretEndpoint, "https://evil"),
			reason: v1alpha1.ReasonEndpointMismatch, words: `"https://evil"`},
		"credentials for another authority": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretCA, "another"),
			reason: v1alpha1.ReasonEndpointMismatch, words: "another certificate authority"},
		"credentials for another member": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretCluster, "west"),
			reason: v1alpha1.ReasonEndpointMismatch, words: "are for the member west and are not used for this one"},
		"credentials for another server name": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretTLSServerName, "kubernetes"),
			reason: v1alpha1.ReasonEndpointMismatch, words: `are for the server name "kubernetes"`},
		"credentials for another proxy": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretProxyURL, "http://me:secret@other:3128"),
			reason: v1alpha1.ReasonEndpointMismatch, words: `are for the proxy "http://other:3128" and are not sent through "http://proxy:3128"`},
		"credentials of an earlier version, which bound no proxy": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretProxyURL, ""),
			reason: v1alpha1.ReasonEndpointMismatch, words: "run `hostctl join east --cluster-kubeconfig FILE --proxy-url URL` again"},
		"a proxy in the Secret that is no URL": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretProxyURL, "http://me:secret@proxy/%zz"),
			reason: v1alpha1.ReasonEndpointMismatch, words: "restore the former spec.proxyURL"},
		"credentials without an endpoint": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretEndpoint, ""),
			reason: v1alpha1.ReasonEndpointMismatch, words: "not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			mc := &v1alpha1.MemberCluster{}
			mc.Name = "east"
			mc.Spec.Endpoint, mc.Spec.CredentialsRef.Name, mc.Spec.ProxyURL = endpoint, "east-creds", "http://proxy:3128"
			config, err := ConfigFor(mc, test.secret, "fairlead/1")
			if test.reason != "" {
				refusal := AsCredentialsError(err)
				if refusal == nil || refusal.Reason != test.reason || !strings.Contains(refusal.Message,
					test.words) || !strings.Contains(refusal.Message, "hostctl join east") {
					t.Fatalf("want %s saying %q and the way out, got %v", test.reason, test.words, err)
				}
				if config != nil || strings.Contains(refusal.Message, "me:secret") {
					t.Errorf("there is a configuration all the same, or the password is told: %v", refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != endpoint || config.UserAgent != "fairlead/1" || config.QPS != -1 || proxyOf(config).String() != "http://me:secret@proxy:3128" {
				t.Errorf("%+v", config)
			}
		})
	}
}

// keyPair returns a certificate and its private key, both in PEM.
func keyPair(t *testing.T) (cert, key string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return block("CERTIFICATE", pair.Certificate[0]), block("PRIVATE KEY", private)
}

// Each edit makes the MemberCluster or the Secret unusable. The error must name the field and the remedy, and there
// must be no configuration with which the manager could send a request.
func TestAWrongEditOfAMemberClusterIsReportedWithFieldAndRemedy(t *testing.T) {
	cert, _ := keyPair(t)
	for name, test := range map[string]struct {
		edit   func(mc *v1alpha1.MemberCluster, secret *corev1.Secret)
		reason string
		words  []string
	}{
		"another endpoint": {func(mc *v1alpha1.MemberCluster, _ *corev1.Secret) { mc.Spec.Endpoint = "https://elsewhere" },
			v1alpha1.ReasonEndpointMismatch, []string{"restore the former spec.endpoint", "hostctl join east", `not sent to "https://elsewhere"`}},
		"an endpoint that leads nowhere": {func(mc *v1alpha1.MemberCluster, secret *corev1.Secret) {
			mc.Spec.Endpoint = "https://[::1"
			secret.Data[v1alpha1.SecretEndpoint] = []byte(mc.Spec.Endpoint)
		}, v1alpha1.ReasonUnreachable, []string{"spec.endpoint is not a usable URL", "hostctl join east"}},
		"another authority": {func(mc *v1alpha1.MemberCluster, _ *corev1.Secret) { mc.Spec.CABundle = []byte("nonsense") },
			v1alpha1.ReasonEndpointMismatch, []string{"restore the former spec.caBundle", "hostctl join east"}},
		"an authority that is no PEM": {func(mc *v1alpha1.MemberCluster, secret *corev1.Secret) {
			mc.Spec.CABundle = []byte("nonsense")
			secret.Data[v1alpha1.SecretCA] = mc.Spec.CABundle
		}, v1alpha1.ReasonCredentialsMissing, []string{"spec.caBundle holds no certificate in PEM", "hostctl join east"}},
		"no authority": {func(mc *v1alpha1.MemberCluster, _ *corev1.Secret) { mc.Spec.CABundle = nil },
			v1alpha1.ReasonEndpointMismatch, []string{"restore the former spec.caBundle"}},
		"a proxy that is no URL": {func(mc *v1alpha1.MemberCluster, _ *corev1.Secret) { mc.Spec.ProxyURL = "http://proxy/?#%zz" },
			v1alpha1.ReasonEndpointMismatch, []string{"restore the former spec.proxyURL", "hostctl join east"}},
		"a proxy where there is none": {func(mc *v1alpha1.MemberCluster, _ *corev1.Secret) { mc.Spec.ProxyURL = "http://evil:3128" },
			v1alpha1.ReasonEndpointMismatch, []string{"restore the former spec.proxyURL", "are for a connection without a proxy", `not sent through "http://evil:3128"`}},
		"a password in the MemberCluster, as an earlier version took it": {func(mc *v1alpha1.MemberCluster, _ *corev1.Secret) {
			mc.Spec.ProxyURL = "http://me:secret@proxy:3128"
		}, v1alpha1.ReasonEndpointMismatch, []string{"take user and password out of spec.proxyURL", "hostctl join east --cluster-kubeconfig FILE --proxy-url URL"}},
		"another server name": {func(mc *v1alpha1.MemberCluster, _ *corev1.Secret) { mc.Spec.TLSServerName = "evil" },
			v1alpha1.ReasonEndpointMismatch, []string{"restore the former spec.tlsServerName", `not sent to "evil"`, "hostctl join east"}},
		"the Secret of another member": {func(_ *v1alpha1.MemberCluster, secret *corev1.Secret) { secret.Name = "west" },
			v1alpha1.ReasonEndpointMismatch, []string{"restore the former spec.credentialsRef", "for the member west"}},
	} {
		t.Run(name, func(t *testing.T) {
			mc := &v1alpha1.MemberCluster{}
			mc.Name, mc.Spec.Endpoint, mc.Spec.CABundle = "east", "https://10.0.0.7:6443", []byte(cert)
			secret := &corev1.Secret{Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretEndpoint: []byte(mc.Spec.Endpoint),
				v1alpha1.SecretCA: mc.Spec.CABundle, v1alpha1.SecretToken: []byte("t")}}
			secret.Name = "east" // as after a join of an earlier version, the Secret has no key with the member's name
			if _, err := ConfigFor(mc, secret, "fairlead/1"); err != nil {
				t.Fatal(err)
			}
			test.edit(mc, secret)
			config, err := ConfigFor(mc, secret, "fairlead/1")
			refusal := AsCredentialsError(err)
			if refusal == nil || refusal.Reason != test.reason || config != nil {
				t.Fatalf("want %s, got %v, %v", test.reason, config, err)
			}
			for _, words := range test.words {
				if !strings.Contains(refusal.Message, words) {
					t.Errorf("%s\ndoes not say %s", refusal.Message, words)
				}
			}
		})
	}
}

func TestAnotherConfigurationIsAnotherConnection(t *testing.T) {
	server := newAPIServer(t)
	for name, test := range map[string]struct {
		proxy string
		name  string
		same  bool
	}{
		"the same":            {same: true},
		"a proxy":             {proxy: "http://proxy"},
		"another server name": {name: "kubernetes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := server.config("a")
			b.ServerName = test.name
			if test.proxy != "" {
				to, _ := url.Parse(test.proxy)
				b.Proxy = http.ProxyURL(to)
			}
			if got := sameConfig(server.config("a"), b); got != test.same {
				t.Errorf("same: %v", got)
			}
		})
	}
}
