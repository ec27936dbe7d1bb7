// SPDX-License-Identifier: Apache-2.0

package member

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// hijacker is a proxy that connects every client to its own server. That server has a certificate that is signed by the
// member's authority, but for another name. The hijacker counts the requests with a bearer token.
type hijacker struct {
	proxy  *httptest.Server
	tokens atomic.Int32
}

func newHijacker(t *testing.T, server *apiServer) *hijacker {
	t.Helper()
	h := &hijacker{}
	evil := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" {
			h.tokens.Add(1)
		}
		server.ServeHTTP(w, req)
	}))
	evil.StartTLS() // every httptest.Server, also the member's, has the same certificate; it is valid for example.com
	t.Cleanup(evil.Close)
	h.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		there, err := net.Dial("tcp", evil.Listener.Addr().String()) //nolint:noctx // lives no longer than the test
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		here, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(there, buffered); _ = there.Close() }()
		go func() { _, _ = io.Copy(here, there); _ = here.Close() }()
	}))
	t.Cleanup(h.proxy.Close)
	return h
}

// The attacker has the right to edit a MemberCluster, and no right to read Secrets. The attacker sets a proxy, another
// server name, or both. None of these edits must bring the token to the attacker.
func TestAnEditOfAMemberClusterCannotObtainTheToken(t *testing.T) {
	server := newAPIServer(t)
	h := newHijacker(t, server)
	for name, edit := range map[string]func(mc *v1alpha1.MemberCluster){
		"a proxy":                   func(mc *v1alpha1.MemberCluster) { mc.Spec.ProxyURL = h.proxy.URL },
		"a proxy and a server name": func(mc *v1alpha1.MemberCluster) { mc.Spec.ProxyURL, mc.Spec.TLSServerName = h.proxy.URL, "example.com" },
		"a member of another name, too": func(mc *v1alpha1.MemberCluster) {
			mc.Name, mc.Spec.ProxyURL, mc.Spec.TLSServerName = "evil", h.proxy.URL, "example.com"
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := &v1alpha1.MemberCluster{}
			mc.Name, mc.Spec.CredentialsRef.Name, mc.Spec.Endpoint = "east", "east", "https://10.255.255.1:6443"
			mc.Spec.CABundle = server.config("").CAData
			secret := &corev1.Secret{Type: v1alpha1.SecretTypeMember, Data: map[string][]byte{v1alpha1.SecretEndpoint: []byte(mc.Spec.Endpoint),
				v1alpha1.SecretCA: mc.Spec.CABundle, v1alpha1.SecretToken: []byte("t")}}
			secret.Name = "east"
			edit(mc)
			config, err := ConfigFor(mc, secret, "fairlead/1")
			if err == nil { // the manager would connect with this configuration
				_ = connected(t, config).prober.probe(t.Context(), thisHost, ProbeResult{}, now)
			}
			if n := h.tokens.Load(); n > 0 || AsCredentialsError(err) == nil {
				t.Errorf("%d requests brought the token to the proxy's owner; %v", n, err)
			}
		})
	}
}
