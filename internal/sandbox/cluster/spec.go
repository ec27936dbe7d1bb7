// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// These are the keys of the ports of a control plane.
const (
	portEtcd       = "etcd"
	portEtcdPeer   = "etcd-peer"
	portAPIServer  = "kube-apiserver"
	portController = "kube-controller-manager"
	portScheduler  = "kube-scheduler"
	portKwok       = "kwok"
)

// PortKeys returns the keys for which Spec.Ports needs a port.
func PortKeys() []string {
	return []string{portEtcd, portEtcdPeer, portAPIServer, portController, portScheduler, portKwok}
}

// Node is one simulated node.
type Node struct {
	Name   string `json:"name"`
	Region string `json:"region"` // the value of the label topology.kubernetes.io/region
	Zone   string `json:"zone"`
}

// Spec describes a control plane. Its methods derive paths, processes and kubeconfigs from it.
//
// It has more methods than other types, because each method gives one thing that follows from these few values: a path, an address, a
// process. No method changes them.
type Spec struct {
	Name          string         `json:"name"`
	Dir           string         `json:"-"`     // the folder for the cluster's files
	Binaries      string         `json:"-"`     // the folder with the programs
	Ports         map[string]int `json:"ports"` // loopback ports: one for each of PortKeys, and one for each key given to Sandbox.Port
	Nodes         []Node         `json:"nodes"`
	Audit         bool           `json:"audit,omitempty"`         // log the metadata of every request to AuditLog
	Fsync         bool           `json:"fsync,omitempty"`         // etcd syncs its writes to disk, as in production; this is slower
	MoreMemory    bool           `json:"moreMemory,omitempty"`    // Go collects garbage as seldom as in production: less CPU and more memory
	APIServerArgs []string       `json:"apiServerArgs,omitempty"` // added after the other flags; the last value of a flag counts
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (s Spec) Kubeconfig() string { return filepath.Join(s.Dir, "kubeconfig") }

// ManagerKubeconfig returns the path of the manager's kubeconfig. It acts as the service account fairlead-manager, which has the permissions in
// config/rbac.
func (s Spec) ManagerKubeconfig() string { return s.file("fairlead-manager.conf") }

// CollectorKubeconfig returns the path of the kubeconfig for a member's collector. It acts as the collector's service account, which has the permissions
// that the join granted.
func (s Spec) CollectorKubeconfig() string { return s.file("fairlead-collector.conf") }

// ServingPair returns three paths: the certificate for servers of this cluster at 127.0.0.1, its key, and the certificate authority that signed it.
func (s Spec) ServingPair() (cert, key, authority string) {
	return s.pki(pairServing + ".crt"), s.pki(pairServing + ".key"), s.pki(pairCA + ".crt")
}

// AuditLog returns the path of the API server's audit log, with one JSON event per line. It exists if Audit is set.
func (s Spec) AuditLog() string { return filepath.Join(s.Dir, "logs", "audit.log") }

// Data returns the folder of the cluster's etcd. It has the whole state of the cluster.
func (s Spec) Data() string { return s.file("etcd") }

// Server returns the URL of the API server.
func (s Spec) Server() string { return "https://" + s.address(portAPIServer) }

// REST returns a client configuration with an administrator's rights.
func (s Spec) REST() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", s.Name, err)
	}
	config.QPS, config.Burst = 100, 200 // high enough to delay no request
	return config, nil
}

func (s Spec) port(key string) string    { return strconv.Itoa(s.Ports[key]) }
func (s Spec) address(key string) string { return net.JoinHostPort("127.0.0.1", s.port(key)) }
func (s Spec) pki(file string) string    { return filepath.Join(s.Dir, "pki", file) }
func (s Spec) program(n string) string   { return filepath.Join(s.Binaries, n) }
