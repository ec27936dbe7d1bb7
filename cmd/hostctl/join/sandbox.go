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

// askSandbox is the time limit for finding out whether the host is a sandbox.
const askSandbox = 5 * time.Second

// warnOfSandbox warns when a sandbox gets the credentials of a cluster that is not on this machine. A sandbox is for trying things
// out: one command deletes it, and its files are all that protects the credentials.
func (o *Options) warnOfSandbox(ctx context.Context, r *join.Result) {
	if isHere(r.Endpoint, ownAddresses()) || !isSandbox(ctx, o.host) {
		return
	}
	_, _ = fmt.Fprintf(o.ErrOut, `Warning: %s is a sandbox, and member %s (%s) is not on this machine. Everyone who can read the sandbox's
  files can use the member's credentials. `+"`hostctl sandbox down`"+` deletes the host and leaves all objects on the member. Use a
  cluster that you can afford to lose, or undo this: hostctl unjoin %s
`, r.Host.Name, r.Name, r.Endpoint, r.Name)
}

// isSandbox reports whether a host is a sandbox: every sandbox has the same CSIDriver. An error counts as no, because a missing warning
// is better than a failed join.
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

// isHere reports whether a URL has a loopback address or one of this machine's own addresses. A host name counts as elsewhere, because
// it would have to be resolved.
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
		return nil // then all but loopback is elsewhere
	}
	return own
}
