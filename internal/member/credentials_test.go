// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestConfigFor(t *testing.T) {
	const endpoint = "https://10.0.0.7:6443"
	secret := func(pairs ...string) *corev1.Secret {
		s := &corev1.Secret{Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretEndpoint: []byte(endpoint)}}
		for i := 0; i < len(pairs); i += 2 {
			s.Data[pairs[i]] = []byte(pairs[i+1])
		}
		return s
	}
	opaque := secret(v1alpha1.SecretToken, "t")
	opaque.Type = corev1.SecretTypeOpaque
	for name, test := range map[string]struct {
		secret *corev1.Secret
		reason string
		words  string
	}{
		"a token":              {secret: secret(v1alpha1.SecretToken, "t")},
		"a client certificate": {secret: secret(v1alpha1.SecretCert, "c", v1alpha1.SecretKey, "k")},
		"no Secret": {secret: nil, reason: v1alpha1.ReasonCredentialsMissing,
			words: "fairlead-system/east-creds is not there"},
		"a Secret of another type":      {secret: opaque, reason: v1alpha1.ReasonCredentialsMissing, words: `"Opaque"`},
		"neither token nor certificate": {secret: secret(), reason: v1alpha1.ReasonCredentialsMissing, words: "token"},
		"a certificate without its key": {secret: secret(v1alpha1.SecretCert, "c"), reason: v1alpha1.ReasonCredentialsMissing,
			words: "tls.key"},
		"credentials for another endpoint": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretEndpoint, "https://evil"),
			reason: v1alpha1.ReasonEndpointMismatch, words: `"https://evil"`},
		"credentials for another authority": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretCA, "another"),
			reason: v1alpha1.ReasonEndpointMismatch, words: "another certificate authority"},
		"credentials that say no endpoint": {secret: secret(v1alpha1.SecretToken, "t", v1alpha1.SecretEndpoint, ""),
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
				if config != nil {
					t.Error("there is a configuration all the same")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != endpoint || config.UserAgent != "fairlead/1" || config.QPS != -1 || proxyOf(config) != "http://proxy:3128" {
				t.Errorf("%+v", config)
			}
		})
	}
}

func TestAnotherConfigurationIsAnotherConnection(t *testing.T) {
	server := newAPIServer(t)
	for name, test := range map[string]struct {
		token, proxy string
		same         bool
	}{
		"the same":      {token: "a", same: true},
		"another token": {token: "b"},
		"a proxy":       {token: "a", proxy: "http://proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			b := server.config(test.token)
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
