// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

// Cluster is a running control plane on which to install OLM.
type Cluster struct {
	Name       string       // the name in messages
	Dir        string       // the cluster's folder; OLM's files go into a subfolder
	REST       *rest.Config // with an administrator's rights
	Kubeconfig string       // the path of a kubeconfig with the same credentials
	Binaries   string       // the folder with the programs olm, catalog and catalogserver

	// FreePort returns a free loopback port. As long as the cluster exists, it returns the same port for the same key.
	FreePort func(key string) (int, error)
	// AddProcess makes the supervisor keep this process running from now on. It replaces a process of the same name, unless the two
	// are equal.
	AddProcess func(ctx context.Context, p Command) error
}

// Command is a process that has to keep running. The supervisor starts it again whenever it ends, also with exit code 0.
type Command struct {
	Name  string
	Path  string
	Args  []string
	Env   []string // NAME=value, added to the supervisor's own environment
	Unset []string // variables that the process must not inherit
}

// portKey is the key of the port of the catalog's server.
const portKey = "catalogserver"

// home returns the folder for this package's files about a cluster.
func (c Cluster) home() string { return filepath.Join(c.Dir, "olm") }

// catalogFolder is the folder, in home, that catalogserver serves. It must contain the catalog and nothing else.
const catalogFolder = "catalog"

// catalogName is the name of the catalog's file. In a ConfigMap it is the key.
const catalogName = demooperator.Name + ".json"

func (c Cluster) catalogDir() string { return filepath.Join(c.home(), catalogFolder) }

// address returns the address of the catalog's server.
func (c Cluster) address() (string, error) { return c.addressOf(portKey) }

func (c Cluster) addressOf(key string) (string, error) {
	port, err := c.FreePort(key)
	if err != nil {
		return "", fmt.Errorf("choosing a port for the catalog of %s: %w", c.Name, err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

// unset are variables of the user's environment that OLM's programs must not inherit. With CI set, OLM uses a round tripper that panics on objects without
// OLM's labels. A proxy would get requests for loopback addresses, and OLM copies proxy variables into every operator's Deployment.
var unset = []string{
	"CI",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "GRPC_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "grpc_proxy",
	"GLOBAL_CATALOG_NAMESPACE",
}

// small makes a process use little memory: a sandbox has several of them for each member. Go collects garbage after the heap has grown by 25 %, not 100 %. For
// these mostly idle processes that costs little CPU.
var small = []string{"GOGC=25", "GOMAXPROCS=2"}

// catalogServer returns a process that serves the catalog in the folder home at a loopback address.
func (c Cluster) catalogServer(name, address, home string) Command {
	return Command{
		Name: name, Path: filepath.Join(c.Binaries, "catalogserver"),
		Args: []string{"--dir=" + filepath.Join(home, catalogFolder), "--listen=" + address, "--cache-dir=" + filepath.Join(home, "index")},
		Env:  small, Unset: unset,
	}
}

// processes returns the three processes of OLM on a cluster. address is the address of the catalog's server.
//
// --interval is the time between two resyncs. It can be long, because OLM sees changes through watches.
func (c Cluster) processes(address string) []Command {
	return []Command{
		c.catalogServer("catalogserver", address, c.home()),
		{
			Name: "olm", Path: filepath.Join(c.Binaries, "olm"),
			Args: []string{"--namespace=" + systemNamespace, "--interval=30s"},
			// This program has no flag for the kubeconfig. It reads the path from the environment.
			Env: append([]string{"KUBECONFIG=" + c.Kubeconfig}, small...), Unset: unset,
		},
		{
			Name: "catalog", Path: filepath.Join(c.Binaries, "catalog"),
			Args: []string{"--kubeconfig=" + c.Kubeconfig, "--namespace=" + systemNamespace, "--interval=1m"},
			Env:  small, Unset: unset,
		},
	}
}
