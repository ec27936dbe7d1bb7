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

// address has the settings with which the host will connect to the member's API server. ca is a CA bundle in PEM. Without
// it the host trusts its system's roots.
type address struct {
	endpoint      string
	ca            []byte
	tlsServerName string
	proxyURL      string
}

// NoProxy is the value of Options.ProxyURL (flag --proxy-url) that makes the host connect to the member directly, even if
// an earlier join set a proxy.
const NoProxy = "none"

// addressOf chooses how the host will connect to the member. For each part it takes the first source that has a value:
//
//   - endpoint: --server, the earlier join, the member's kubeconfig
//   - TLS server name: the kubeconfig, the earlier join
//   - proxy: --proxy-url, the earlier join
//   - CA: the kubeconfig
//
// bound has the values of the earlier join, from the Secret at the host. addressOf does not read them from the
// MemberCluster. Otherwise a user who can edit the MemberCluster could redirect the token of the next join to a server of
// their own.
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
		return a, errors.New("the cluster's kubeconfig says insecure-skip-tls-verify, so the host would send its token to any server that answers at that address; " +
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

// edits returns the connection fields that differ between a MemberCluster and bound, the binding in the Secret at the host.
// A join writes the same values to both, so another client has changed these fields.
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

// edit is a connection field that another client changed in a MemberCluster. The string field is its name. The string have
// is its value in the MemberCluster, and the string bound is its value in the Secret at the host. The string meant tells
// the user how to make a join use the value in the MemberCluster.
type edit struct{ field, have, bound, meant string }

// checkLoopback refuses a loopback address of the member or of the proxy: the host would connect to its own machine. With a
// proxy, checkLoopback checks only the proxy's address, because the proxy connects to the member. If the host's own address
// is a loopback address too, checkLoopback accepts every address: host and member then run on this machine, as in the
// sandbox.
func (a address) checkLoopback(host string) error {
	if isLoopback(host) {
		return nil
	}
	if a.proxyURL != "" {
		if isLoopback(a.proxyURL) {
			return fmt.Errorf("--proxy-url %s is a loopback address: at the host it leads to the host itself. "+
				"Give the address at which the host reaches the proxy", credentials.WithoutUser(a.proxyURL))
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
		return fmt.Errorf("%s is no URL: write %s://HOST:PORT", what, schemes[0]) // the message leaves out the URL, which may contain a password
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
	return fmt.Errorf("%s: %s has none of the supported schemes: %s", what, raw, strings.Join(schemes, ", "))
}

// isLoopback reports whether a URL, or a HOST:PORT of a kubeconfig, leads back to the machine that uses it.
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

// caOf returns the CA bundle of a connection in PEM. It returns nil if the connection trusts the system's roots.
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
