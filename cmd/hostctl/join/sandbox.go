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

// askSandbox is how long the question whether the host is a sandbox may take.
const askSandbox = 5 * time.Second

// warnOfSandbox says what it means that a sandbox holds the credentials of a cluster elsewhere. The sandbox is for trying
// things out: it is deleted in one command, and protects what it holds no better than its owner's files.
func (o *Options) warnOfSandbox(ctx context.Context, r *join.Result) {
	if isHere(r.Endpoint, ownAddresses()) || !isSandbox(ctx, o.host) {
		return
	}
	_, _ = fmt.Fprintf(o.ErrOut, `Warning: %s is a sandbox, and member %s (%s) is not on this machine. Its credentials are in the sandbox's
  files, for everyone who can read them. `+"`hostctl sandbox down`"+` deletes the host and leaves on the member what was delivered. Use a
  cluster that may be lost, or end this by: hostctl unjoin %s
`, r.Host.Name, r.Name, r.Endpoint, r.Name)
}

// isSandbox reports whether a host has what every sandbox has. An error counts as no: a warning is not worth a failure.
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

// isHere reports whether a URL leads to this machine by loopback or by one of its own addresses. A name that would have to be
// looked up counts as elsewhere.
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
