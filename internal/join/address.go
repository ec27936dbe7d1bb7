// SPDX-License-Identifier: Apache-2.0

package join

import (
	"bytes"
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
	"github.com/fairlead-dev/fairlead/internal/credentials"
)

// address is how the host will reach the member.
type address struct {
	endpoint      string
	ca            []byte
	tlsServerName string
	proxyURL      string
}

// NoProxy is Options.ProxyURL for a member that the host is to reach without a proxy, whatever an earlier join said.
const NoProxy = "none"

// addressOf takes the address from the options of the join, then from the address that the host's credentials are
// bound to, then from the kubeconfig that the join uses. It ignores the MemberCluster. An editor of the MemberCluster
// could otherwise redirect the new token of a later join to a server of their own.
func addressOf(host, member *rest.Config, opts Options, bound credentials.Binding) (address, error) {
	a := address{
		endpoint:      cmp.Or(opts.Server, bound.Endpoint, member.Host),
		tlsServerName: cmp.Or(member.ServerName, bound.TLSServerName),
		proxyURL:      cmp.Or(opts.ProxyURL, bound.ProxyURL),
	}
	if opts.ProxyURL == NoProxy {
		a.proxyURL = ""
	}
	if member.Insecure {
		return a, errors.New("the cluster's kubeconfig says insecure-skip-tls-verify: the host would send its token to any server that answers there; " +
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

// edits are the connection fields in which a MemberCluster differs from the binding of the host's credentials. A
// person or a program wrote them, not a join.
func edits(have v1alpha1.MemberClusterSpec, bound credentials.Binding) []edit {
	var found []edit
	for _, e := range []edit{
		{"endpoint", have.Endpoint, bound.Endpoint, "give --server"},
		{"tlsServerName", have.TLSServerName, bound.TLSServerName, "give a kubeconfig with that tls-server-name"},
		{"proxyURL", credentials.WithoutUser(have.ProxyURL), credentials.WithoutUser(bound.ProxyURL), "give --proxy-url"},
	} {
		if e.have != e.bound {
			found = append(found, e)
		}
	}
	if !bytes.Equal(bytes.TrimSpace(have.CABundle), bytes.TrimSpace(bound.CA)) {
		found = append(found, edit{"caBundle", "one certificate authority", "another", "give a kubeconfig with that certificate-authority-data"})
	}
	return found
}

// edit is a field of the connection that a person changed in the MemberCluster. have is that value, bound is the value in the Secret.
// meant says how to make the join use have.
type edit struct{ field, have, bound, meant string }

// checkLoopback refuses an address that leads the host to itself. A host that is on loopback too runs on the same
// machine, as in the sandbox. With a proxy only the proxy's address is checked, because the proxy resolves the member's.
func (a address) checkLoopback(host string) error {
	if isLoopback(host) {
		return nil
	}
	if a.proxyURL != "" {
		if isLoopback(a.proxyURL) {
			return fmt.Errorf("--proxy-url %s is a loopback address: at the host it leads to the host itself", credentials.WithoutUser(a.proxyURL))
		}
		return nil
	}
	if isLoopback(a.endpoint) {
		return fmt.Errorf("the member's API server %s is a loopback address, which leads at the host (%s) to the host itself. Give the address at which the "+
			"host reaches the member, with --server https://ADDRESS:PORT", a.endpoint, host)
	}
	return nil
}

func checkURL(what, raw string, schemes ...string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("%s is no URL: write %s://HOST:PORT", what, schemes[0]) // it may hold a password
	}
	raw = u.Redacted()
	if u.Hostname() == "" {
		return fmt.Errorf("%s: %q is no URL; write %s://HOST:PORT", what, raw, schemes[0])
	}
	for _, s := range schemes {
		if u.Scheme == s {
			return nil
		}
	}
	return fmt.Errorf("%s: %s has another scheme than %s", what, raw, strings.Join(schemes, ", "))
}

// isLoopback reports whether a URL, or HOST:PORT as kubeconfigs may have it, leads back to the machine that uses it.
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
