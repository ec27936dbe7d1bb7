// SPDX-License-Identifier: Apache-2.0

package join

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"encoding/pem"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestIsLoopback(t *testing.T) {
	for url, want := range map[string]bool{
		"https://127.0.0.1:6443":     true,
		"https://127.8.9.1":          true,
		"https://[::1]:6443":         true,
		"https://[::ffff:127.0.0.1]": true,
		"https://localhost:6443":     true,
		"https://LocalHost.:6443":    true,
		"https://east.localhost":     true,
		"https://0.0.0.0:6443":       true,
		"localhost:6443":             true,
		"https://10.0.0.7:6443":      false,
		"https://localhost.example":  false,
		"https://127.0.0.1.nip.io":   false,
		"https://[2001:db8::1]:6443": false,
	} {
		if got := isLoopback(url); got != want {
			t.Errorf("%s: want %t, got %t", url, want, got)
		}
	}
}

func TestAddressOf(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(caFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	const far, near = "https://10.0.0.7:6443", "https://127.0.0.1:6443"
	earlier := credentials.Binding{Endpoint: "https://old:6443", ProxyURL: "http://me:secret@proxy:3128", TLSServerName: "kubernetes"}
	for name, tc := range map[string]struct {
		host    string
		member  rest.Config
		opts    Options
		bound   credentials.Binding
		want    address
		wantErr string
	}{
		"the kubeconfig's server and CA": {
			member: rest.Config{Host: far, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, want: address{endpoint: far, ca: ca}},
		"a CA from a file, and a name for the certificate": {
			member: rest.Config{Host: far, TLSClientConfig: rest.TLSClientConfig{CAFile: caFile, ServerName: "kubernetes"}},
			want:   address{endpoint: far, ca: ca, tlsServerName: "kubernetes"}},
		"the system's roots": {member: rest.Config{Host: far}, want: address{endpoint: far}},
		"--server wins":      {member: rest.Config{Host: near}, opts: Options{Server: far + "/"}, want: address{endpoint: far}},
		"no proxy any more": {member: rest.Config{Host: far}, opts: Options{ProxyURL: NoProxy}, bound: credentials.Binding{ProxyURL: "http://proxy:3128"},
			want: address{endpoint: far}},
		"an earlier join's word stays": {member: rest.Config{Host: near}, bound: earlier,
			want: address{endpoint: "https://old:6443", proxyURL: "http://me:secret@proxy:3128", tlsServerName: "kubernetes"}},
		"--server wins over an earlier join": {member: rest.Config{Host: near}, bound: earlier, opts: Options{Server: far, ProxyURL: "socks5://p:1080"},
			want: address{endpoint: far, proxyURL: "socks5://p:1080", tlsServerName: "kubernetes"}},
		"loopback, host elsewhere":           {member: rest.Config{Host: near}, wantErr: "--server https://ADDRESS:PORT"},
		"loopback, host on the same machine": {host: "https://localhost:1", member: rest.Config{Host: near}, want: address{endpoint: near}},
		"loopback behind a proxy":            {member: rest.Config{Host: near}, opts: Options{ProxyURL: "http://proxy:3128"}, want: address{endpoint: near, proxyURL: "http://proxy:3128"}},
		"a proxy on loopback":                {member: rest.Config{Host: far}, opts: Options{ProxyURL: "http://localhost:3128"}, wantErr: "--proxy-url http://localhost:3128 is a loopback address"},
		"a proxy of an unknown kind":         {member: rest.Config{Host: far}, opts: Options{ProxyURL: "ftp://proxy"}, wantErr: "has none of the supported schemes: http, https, socks5"},
		"a password is not told": {member: rest.Config{Host: far}, opts: Options{ProxyURL: "http://me:secret@localhost:1"},
			wantErr: "--proxy-url http://localhost:1 is a loopback address"},
		"http is refused":                    {member: rest.Config{Host: "http://10.0.0.7:8080"}, wantErr: "has none of the supported schemes: https"},
		"--server without a scheme":          {member: rest.Config{Host: far}, opts: Options{Server: "10.0.0.7:6443"}, wantErr: "write https://HOST:PORT"},
		"a certificate that nobody verifies": {member: rest.Config{Host: far, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, wantErr: "insecure-skip-tls-verify"},
		"a CA that is none":                  {member: rest.Config{Host: far, TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}}, wantErr: "no PEM certificate in certificate-authority-data"},
		"a CA file that is not there":        {member: rest.Config{Host: far, TLSClientConfig: rest.TLSClientConfig{CAFile: caFile + "x"}}, wantErr: "reading the CA"},
	} {
		t.Run(name, func(t *testing.T) {
			host := &rest.Config{Host: "https://host.example:6443"}
			if tc.host != "" {
				host.Host = tc.host
			}
			got, err := addressOf(host, &tc.member, tc.opts, tc.bound)
			if diff := errortext.Diff(tc.wantErr, err); diff != "" {
				t.Fatal(diff)
			}
			if tc.wantErr != "" {
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(address{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
