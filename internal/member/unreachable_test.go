// SPDX-License-Identifier: Apache-2.0

package member

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// anotherAuthority returns the certificate of an authority that signed nothing here, in PEM.
func anotherAuthority(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestTheMessageAboutAnUnreachableMemberNamesTheFieldToCheck(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := nobody.Addr().String()
	_ = nobody.Close()
	other := anotherAuthority(t)
	for name, test := range map[string]struct {
		edit  func(config *rest.Config)
		words []string
	}{
		"no server listens": {func(c *rest.Config) { c.Host = "https://" + free },
			[]string{"the API server does not answer: dial tcp " + free, "connection refused"}},
		"another authority": {func(c *rest.Config) { c.CAData = other },
			[]string{"not signed by spec.caBundle", "correct spec.endpoint", "hostctl join east"}},
		"another name": {func(c *rest.Config) { c.ServerName = "east.example.org" },
			[]string{`not for spec.tlsServerName "east.example.org"`, "hostctl join east", "example.com"}},
		"a host that the certificate does not have": {func(c *rest.Config) { c.Host = strings.Replace(c.Host, "127.0.0.1", "localhost", 1) },
			[]string{"not for the host of spec.endpoint", "set spec.tlsServerName"}},
		"a proxy that does not answer": {func(c *rest.Config) {
			c.Proxy = http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("me", "hunter2"), Host: free})
		}, []string{"does not answer through spec.proxyURL http://" + free, "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := newAPIServer(t).config("t")
			test.edit(config)
			is := connected(t, config).probe(t.Context(), thisHost, ProbeResult{}, now)
			if is.Reachable || is.Reason != v1alpha1.ReasonUnreachable || strings.Contains(is.Message, "hunter2") || strings.Contains(is.Message, "me@") {
				t.Fatalf("%+v", is)
			}
			for _, words := range test.words {
				if !strings.Contains(is.Message, words) {
					t.Errorf("%s\ndoes not say %s", is.Message, words)
				}
			}
		})
	}
}
