// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
)

// askSandbox bounds the request that shows whether the host is a sandbox.
const askSandbox = 5 * time.Second

// warnOfSandbox warns if the host is a sandbox and the member is not on this machine. The member's credentials are at risk then: only the
// permissions of the sandbox's files protect them. Also, one command deletes such a host.
func (o *Options) warnOfSandbox(ctx context.Context, r *join.Result) {
	if isHere(r.Endpoint, ownAddresses()) || !isSandbox(ctx, o.host) {
		return
	}
	_, _ = fmt.Fprintf(o.ErrOut, `Warning: %s is a sandbox, and member %s (%s) is not on this machine. Everyone who can read the sandbox's
  files can use the member's credentials. `+"`hostctl sandbox down`"+` deletes the host and leaves all objects on the member. Use a
  cluster that you can afford to lose, or undo this: hostctl unjoin %s
`, r.Host.Name, r.Name, r.Endpoint, r.Name)
}

// isSandbox reports whether the host is a sandbox. Every sandbox has a certain CSIDriver. After an error isSandbox returns false, because a
// missing warning is better than a failed join.
func isSandbox(ctx context.Context, host *rest.Config) bool {
	ctx, cancel := context.WithTimeout(ctx, askSandbox)
	defer cancel()
	client, err := kubernetes.NewForConfig(host)
	if err != nil {
		return false
	}
	_, err = client.StorageV1().CSIDrivers().Get(ctx, cluster.Driver, metav1.GetOptions{})
	return err == nil
}

// isHere reports whether a URL leads to this machine: to localhost, a loopback address or an address in own. It does not resolve names, so
// it returns false for any other host name.
func isHere(endpoint string, own []net.Addr) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	if name := strings.ToLower(u.Hostname()); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && (ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(ip)
	}))
}

func ownAddresses() []net.Addr {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil // without the machine's own addresses, isHere knows only loopback addresses
	}
	return own
}
