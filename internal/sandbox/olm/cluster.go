// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
)

// Cluster is a running control plane, with the fields that OLM's installation needs.
type Cluster struct {
	Name       string       // its name in messages
	Dir        string       // the cluster's folder; OLM's files are in a subfolder
	REST       *rest.Config // as its administrator
	Kubeconfig string       // the same as a file
	Binaries   string       // folder with olm, catalog and catalogserver

	// FreePort returns a free loopback port. It stays the same for a key as long as the cluster exists.
	FreePort func(key string) (int, error)
	// AddProcess makes the supervisor keep this process running from now on. A process of that name stays if it is
	// equal, and is replaced otherwise.
	AddProcess func(ctx context.Context, p Command) error
}

// Command describes a process that must keep running. It is restarted with every exit code.
type Command struct {
	Name  string
	Path  string
	Args  []string
	Env   []string // KEY=VALUE, on top of the supervisor's own environment
	Unset []string // variables that the process must not inherit
}

// portKey names the catalog server's port.
const portKey = "catalogserver"

// home is the folder with all files of this package for a cluster.
func (c Cluster) home() string { return filepath.Join(c.Dir, "olm") }

// catalogFolder is the folder that a catalogserver serves. It must hold only the catalog.
const catalogFolder = "catalog"

func (c Cluster) catalogDir() string { return filepath.Join(c.home(), catalogFolder) }

// address is the address of catalogserver.
func (c Cluster) address() (string, error) { return c.addressOf(portKey) }

func (c Cluster) addressOf(key string) (string, error) {
	port, err := c.FreePort(key)
	if err != nil {
		return "", fmt.Errorf("choosing a port for the catalog of %s: %w", c.Name, err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

// unset are variables of the user's environment that OLM must not get. CI switches on a round tripper that panics on
// objects without OLM's labels. Proxies would divert calls to loopback, and OLM copies them into every operator's
// Deployment.
var unset = []string{
	"CI",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "GRPC_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "grpc_proxy",
	"GLOBAL_CATALOG_NAMESPACE",
}

// small keeps the processes small: memory is scarce in a sandbox of several members. Garbage collection runs at a quarter of
// the usual growth, which costs these idle processes little.
var small = []string{"GOGC=25", "GOMAXPROCS=2"}

// catalogServer returns the process that serves the folder catalog in home.
func (c Cluster) catalogServer(name, address, home string) Command {
	return Command{
		Name: name, Path: filepath.Join(c.Binaries, "catalogserver"),
		Args: []string{"--dir=" + filepath.Join(home, catalogFolder), "--listen=" + address, "--cache-dir=" + filepath.Join(home, "index")},
		Env:  small, Unset: unset,
	}
}

// processes returns OLM's three processes, for a cluster whose catalog is served on address.
//
// The intervals are OLM's resync intervals; OLM sees changes by watches.
func (c Cluster) processes(address string) []Command {
	return []Command{
		c.catalogServer("catalogserver", address, c.home()),
		{
			Name: "olm", Path: filepath.Join(c.Binaries, "olm"),
			Args: []string{"--namespace=" + systemNamespace, "--interval=30s"},
			// OLM's programs read the cluster from this variable only. They have no flag for it.
			Env: append([]string{"KUBECONFIG=" + c.Kubeconfig}, small...), Unset: unset,
		},
		{
			Name: "catalog", Path: filepath.Join(c.Binaries, "catalog"),
			Args: []string{"--kubeconfig=" + c.Kubeconfig, "--namespace=" + systemNamespace, "--interval=1m"},
			Env:  small, Unset: unset,
		},
	}
}
