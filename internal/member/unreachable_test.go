// SPDX-License-Identifier: Apache-2.0

package member

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// anotherAuthority returns the certificate, in PEM, of an authority that did not sign the server's certificate.
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
		edit   func(config *rest.Config)
		reason string
		words  []string
	}{
		"no server listens": {func(c *rest.Config) { c.Host = "https://" + free }, v1alpha1.ReasonConnectionRefused,
			[]string{"nothing listens at https://" + free,
				"If the address has changed, run `hostctl join east --cluster-kubeconfig FILE --server URL` with the right URL: dial tcp " + free, "connection refused"}},
		"another authority": {func(c *rest.Config) { c.CAData = other }, v1alpha1.ReasonTLSError,
			[]string{"not signed by spec.caBundle", "hostctl join east --cluster-kubeconfig FILE` again", "hostctl join east --cluster-kubeconfig FILE --server URL`"}},
		"another name": {func(c *rest.Config) { c.ServerName = "east.example.org" }, v1alpha1.ReasonTLSError,
			[]string{`not for spec.tlsServerName "east.example.org"`, "hostctl join east", "example.com"}},
		"a host that the certificate does not have": {func(c *rest.Config) { c.Host = strings.Replace(c.Host, "127.0.0.1", "localhost", 1) }, v1alpha1.ReasonTLSError,
			[]string{"not for the host of spec.endpoint", "hostctl join east --cluster-kubeconfig FILE --server URL`", "a tls-server-name of the certificate"}},
		"a proxy that does not answer": {func(c *rest.Config) {
			c.Proxy = http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("me", "hunter2"), Host: free})
		}, v1alpha1.ReasonConnectionRefused, []string{"through spec.proxyURL http://" + free + ": the proxy refuses the connection", "--proxy-url", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := newAPIServer(t).config("t")
			test.edit(config)
			is := connected(t, config).prober.probe(t.Context(), thisHost, ProbeResult{}, now)
			if is.Reachable || is.Reason != v1alpha1.ReasonUnreachable || is.Failure != test.reason || strings.Contains(is.Message, "hunter2") || strings.Contains(is.Message, "me@") {
				t.Fatalf("%+v", is)
			}
			for _, words := range append(test.words, " at https://") {
				if !strings.Contains(is.Message, words) {
					t.Errorf("%s\ndoes not say %s", is.Message, words)
				}
			}
		})
	}
}

func TestTheMessageAboutAnAnswerThatTheManagerCannotUseSaysWhy(t *testing.T) {
	const isIt = "Does spec.endpoint lead to a Kubernetes API server?"
	for name, test := range map[string]struct{ path, kind, body, words string }{
		"a page for people":        {membershipPath, "text/html", "<html>Log in</html>", "not the expected JSON (invalid character '<'"},
		"a version that is a page": {"/version", "text/html", "<html>Log in</html>", "reading the version of member east: the answer is not the expected JSON"},
		"another encoding":         {membershipPath, "application/cbor", "{}", `has the content type "application/cbor"`},
		"another object":           {membershipPath, "application/json", `{"kind":"Pod","apiVersion":"v1"}`, "is a Pod and not a Membership"},
		"a body without an end":    {membershipPath, "application/json", strings.Repeat(" ", boundedread.MaxAnswer+1), "it is larger than 8Mi"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.URL.Path != test.path {
					server.ServeHTTP(w, req)
					return
				}
				w.Header().Set("Content-Type", test.kind)
				_, _ = w.Write([]byte(test.body)) // the client reports an incomplete response in another message
			})
			is := connected(t, server.config("t")).prober.probe(t.Context(), thisHost, ProbeResult{}, now)
			if is.Reachable || is.Reason != v1alpha1.ReasonUnreachable || is.Failure != v1alpha1.ReasonUnreachable ||
				!strings.HasPrefix(is.Message, "the manager cannot use the answer of the API server at "+server.URL+": ") ||
				!strings.Contains(is.Message, test.words) || !strings.HasSuffix(is.Message, isIt) {
				t.Errorf("%+v", is)
			}
		})
	}
}

func TestTheMessageAboutACertificateThatIsNotValidSaysWhoMendsIt(t *testing.T) {
	for name, test := range map[string]struct {
		until time.Time
		usage x509.ExtKeyUsage
		words string
	}{
		"it has expired":         {time.Now().Add(-time.Minute), x509.ExtKeyUsageServerAuth, "has expired: it was valid until "},
		"it is one for a client": {time.Now().Add(time.Hour), x509.ExtKeyUsageClientAuth, "is not valid. Renew it on the member: "},
		"it is from the future":  {time.Now().Add(3 * time.Hour), x509.ExtKeyUsageServerAuth, "is not valid before "},
	} {
		t.Run(name, func(t *testing.T) {
			public, private, err := ed25519.GenerateKey(rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
				NotBefore: test.until.Add(-time.Hour), NotAfter: test.until, ExtKeyUsage: []x509.ExtKeyUsage{test.usage}}
			der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}
			server.StartTLS()
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}}
			is := connected(t, config).prober.probe(t.Context(), thisHost, ProbeResult{}, time.Now())
			if is.Reachable || is.Failure != v1alpha1.ReasonTLSError || !strings.HasPrefix(is.Message, "the certificate of the API server at "+server.URL+" "+test.words) {
				t.Errorf("%+v", is)
			}
		})
	}
}
