// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// Explain returns an error that tells which cluster hostctl could not reach, at which address (endpoint), why, and what the
// user can do. If the connection is not the cause of err, Explain returns err unchanged.
func Explain(err error, cluster, endpoint string) error {
	if err == nil {
		return nil
	}
	at := fmt.Sprintf("reaching %s at %s", cluster, endpoint)
	if why := certificateTrouble(err); why != "" {
		return fmt.Errorf("%s: %s: %w", at, why, err)
	}
	var dns *net.DNSError
	var dial *net.OpError
	var elsewhere *redirect.Error
	switch {
	case errors.As(err, &elsewhere):
		return fmt.Errorf("%s: %w", at, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the API server does not accept the credentials of the kubeconfig. They have expired, or are those of another cluster: %w", at, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: the API server forbids the first request of the kubeconfig's user. Check that the kubeconfig holds credentials, and that "+
			"their user has cluster-admin rights: %w", at, err)
	case errors.As(err, &dns):
		return fmt.Errorf("%s: this machine cannot resolve the host name %s. Check the address and this machine's DNS: %w", at, dns.Name, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: nothing listens there. Check that the cluster is up and the port is right: %w", at, err)
	case errors.Is(err, http.ErrSchemeMismatch), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s: the server there does not speak TLS. Check that the address and port are those of an API server: %w", at, err)
	case timedOut(err):
		return fmt.Errorf("%s: no answer came in time. Look for a firewall, a VPN that is not up, or a missing proxy (--proxy-url): %w", at, err)
	case errors.As(err, &dial):
		return fmt.Errorf("%s: the connection failed: %w", at, err)
	}
	return err
}

func timedOut(err error) bool {
	var u *url.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || (errors.As(err, &u) && u.Timeout())
}

func certificateTrouble(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return "its certificate is not signed by the CA of the kubeconfig. Another cluster answers there, or the CA was renewed"
	case errors.As(err, &name):
		return fmt.Sprintf("its certificate is for %s. In the kubeconfig, set server to an address with one of these names, or tls-server-name to one of them", namesOf(name.Certificate))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate is valid only from %s to %s", invalid.Cert.NotBefore.UTC().Format("2006-01-02 15:04"), invalid.Cert.NotAfter.UTC().Format("2006-01-02 15:04"))
	case errors.As(err, &invalid), errors.As(err, &verification):
		return "its certificate is not valid"
	}
	return ""
}

func namesOf(cert *x509.Certificate) string {
	names := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name at all"
	}
	return strings.Join(names, ", ")
}
