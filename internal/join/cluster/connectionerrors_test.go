// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestConnectionErrorsNameTheCause(t *testing.T) {
	answers := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`, http.StatusUnauthorized)
	}))
	defer answers.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	release := make(chan struct{})
	hangs := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hangs.Close()
	defer close(release)
	ca := func(s *httptest.Server) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	}
	for name, tc := range map[string]struct {
		url     string
		tls     rest.TLSClientConfig
		timeout time.Duration
		want    string
	}{
		"a token that is not accepted":     {url: answers.URL, tls: rest.TLSClientConfig{CAData: ca(answers)}, want: "the API server does not accept the credentials of the kubeconfig"},
		"a CA that is another's":           {url: answers.URL, want: "its certificate is not signed by the CA of the kubeconfig"},
		"a name that is not in it":         {url: answers.URL, tls: rest.TLSClientConfig{CAData: ca(answers), ServerName: "east"}, want: "its certificate is for example.com"},
		"nothing listens":                  {url: "https://" + freeAddress(t), want: "nothing listens there"},
		"a name that nobody knows":         {url: "https://no-such-host.invalid:6443", want: "this machine cannot resolve the host name no-such-host.invalid"},
		"a server that does not speak TLS": {url: strings.Replace(plain.URL, "http:", "https:", 1), want: "the server there does not speak TLS"},
		"a server that does not answer":    {url: hangs.URL, tls: rest.TLSClientConfig{CAData: ca(hangs)}, timeout: 100 * time.Millisecond, want: "no answer came in time"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Version(&rest.Config{Host: tc.url, TLSClientConfig: tc.tls, Timeout: tc.timeout})
			if err == nil {
				t.Fatal("it answers")
			}
			if diff := errortext.Diff("reaching member east at "+tc.url+": "+tc.want, Explain(err, "member east", tc.url)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnExpiredCertificateIsReported(t *testing.T) {
	cert := &x509.Certificate{NotBefore: time.Unix(0, 0), NotAfter: time.Unix(3600, 0)}
	err := &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: cert, Reason: x509.Expired}}
	want := "its certificate is valid only from 1970-01-01 00:00 to 1970-01-01 01:00"
	if diff := errortext.Diff(want, Explain(err, "member east", "https://east")); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsThatAreNotAboutTheConnectionStayAsTheyAre(t *testing.T) {
	err := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "kube-system")
	if got := Explain(err, "member east", "https://east"); !errors.Is(got, err) {
		t.Errorf("got %v", got)
	}
	if Explain(nil, "member east", "https://east") != nil {
		t.Error("no error became one")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
