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

// Cluster is a running control plane, as far as OLM needs to know it.
type Cluster struct {
	Name       string       // what messages call it
	Dir        string       // the cluster's folder; OLM's things are in a folder of their own in it
	REST       *rest.Config // of its administrator
	Kubeconfig string       // a file that says the same
	Binaries   string       // folder with olm, catalog and catalogserver

	// FreePort returns a free loopback port, the same one for the same key as long as the cluster lives.
	FreePort func(key string) (int, error)
	// AddProcess has the supervisor keep a process of that name running from now on. A process of the same name that is there
	// already stays when it is the same, and is replaced when it is not.
	AddProcess func(ctx context.Context, p Process) error
}

// Process is something to keep running, and to start again however it ends.
type Process struct {
	Name  string
	Path  string
	Args  []string
	Env   []string // KEY=VALUE, on top of the supervisor's own environment
	Unset []string // variables that the process must not inherit
}

// portKey names the catalog server's port.
const portKey = "catalogserver"

// home is the folder of everything that this package keeps for a cluster.
func (c Cluster) home() string { return filepath.Join(c.Dir, "olm") }

// catalogDir is the folder that catalogserver serves; nothing but the catalog may be in it.
func (c Cluster) catalogDir() string { return filepath.Join(c.home(), "catalog") }

// address is where catalogserver listens and where OLM looks.
func (c Cluster) address() (string, error) {
	port, err := c.FreePort(portKey)
	if err != nil {
		return "", fmt.Errorf("choosing a port for the catalog of %s: %w", c.Name, err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

// unset keeps a user's environment out of OLM: CI switches on a round tripper that panics on objects without OLM's labels, and
// proxies, besides diverting calls to loopback, are copied into every operator's Deployment.
var unset = []string{
	"CI",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "GRPC_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "grpc_proxy",
	"GLOBAL_CATALOG_NAMESPACE",
}

// processes are OLM's three, for a cluster whose catalog is served on address.
//
// The intervals are how often OLM looks at everything again without a reason; changes wake it by watches. Memory is what a sandbox
// of several members is short of, and garbage collection at a quarter of the usual growth costs these idle processes little.
func (c Cluster) processes(address string) []Process {
	env := []string{"GOGC=25", "GOMAXPROCS=2"}
	return []Process{
		{
			Name: "catalogserver", Path: filepath.Join(c.Binaries, "catalogserver"),
			Args: []string{"--dir=" + c.catalogDir(), "--listen=" + address, "--cache-dir=" + filepath.Join(c.home(), "index")},
			Env:  env, Unset: unset,
		},
		{
			Name: "olm", Path: filepath.Join(c.Binaries, "olm"),
			Args: []string{"--namespace=" + systemNamespace, "--interval=30s"},
			// Its only way to name a cluster: there is no flag.
			Env: append([]string{"KUBECONFIG=" + c.Kubeconfig}, env...), Unset: unset,
		},
		{
			Name: "catalog", Path: filepath.Join(c.Binaries, "catalog"),
			Args: []string{"--kubeconfig=" + c.Kubeconfig, "--namespace=" + systemNamespace, "--interval=1m"},
			Env:  env, Unset: unset,
		},
	}
}
