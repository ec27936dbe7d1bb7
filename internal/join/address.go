// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// address is how the host will reach the member.
type address struct {
	endpoint      string
	ca            []byte
	tlsServerName string
	proxyURL      string
}

// addressOf takes the address from what the join was told, from what the host knows already, and from the kubeconfig
// that the join uses, in this order.
func addressOf(host, member *rest.Config, opts Options, known *v1alpha1.MemberCluster) (address, error) {
	a := address{
		endpoint:      cmp.Or(opts.Server, known.Spec.Endpoint, member.Host),
		tlsServerName: cmp.Or(member.ServerName, known.Spec.TLSServerName),
		proxyURL:      cmp.Or(opts.ProxyURL, known.Spec.ProxyURL),
	}
	if member.Insecure {
		return a, errors.New("the cluster's kubeconfig says insecure-skip-tls-verify: the host would send the member's token to whoever answers there; " +
			"put the cluster's CA into the kubeconfig (certificate-authority-data) instead")
	}
	var err error
	if a.ca, err = caOf(member); err != nil {
		return a, err
	}
	if err := checkURL("the member's API server", a.endpoint, "https"); err != nil {
		return a, err
	}
	a.endpoint = strings.TrimRight(a.endpoint, "/")
	if a.proxyURL != "" {
		if err := checkURL("--proxy-url", a.proxyURL, "http", "https", "socks5"); err != nil {
			return a, err
		}
	}
	return a, a.checkLoopback(host.Host)
}

// checkLoopback refuses an address that leads the host to itself. A host that is on loopback too runs on the same
// machine, as in the sandbox. Behind a proxy the proxy's address counts: the member's is looked up there.
func (a address) checkLoopback(host string) error {
	if isLoopback(host) {
		return nil
	}
	if a.proxyURL != "" {
		if isLoopback(a.proxyURL) {
			return fmt.Errorf("--proxy-url %s is a loopback address: at the host it leads to the host itself", a.proxyURL)
		}
		return nil
	}
	if isLoopback(a.endpoint) {
		return fmt.Errorf("the member's API server %s is a loopback address: at the host (%s) it leads to the host itself; "+
			"give the address by which the host reaches the member: --server https://ADDRESS:PORT", a.endpoint, host)
	}
	return nil
}

func checkURL(what, raw string, schemes ...string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%s: %q is no URL: write %s://HOST:PORT", what, raw, schemes[0])
	}
	for _, s := range schemes {
		if u.Scheme == s {
			return nil
		}
	}
	return fmt.Errorf("%s: %s: the scheme is not %s", what, raw, strings.Join(schemes, ", "))
}

// isLoopback tells of a URL, or HOST:PORT as kubeconfigs may have it, whether it leads back to the machine that asks.
func isLoopback(raw string) bool {
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// caOf is the PEM bundle of a connection, nil when it trusts the system's roots.
func caOf(cfg *rest.Config) ([]byte, error) {
	ca, from := cfg.CAData, "certificate-authority-data"
	if len(ca) == 0 && cfg.CAFile != "" {
		var err error
		if ca, err = os.ReadFile(cfg.CAFile); err != nil {
			return nil, fmt.Errorf("reading the CA of the cluster's kubeconfig: %w", err)
		}
		from = cfg.CAFile
	}
	if len(ca) == 0 {
		return nil, nil
	}
	if !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("reading the CA of the cluster's kubeconfig: no PEM certificate in %s", from)
	}
	return ca, nil
}
