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

// Keys of the ports that a control plane needs.
const (
	portEtcd       = "etcd"
	portEtcdPeer   = "etcd-peer"
	portAPIServer  = "kube-apiserver"
	portController = "kube-controller-manager"
	portScheduler  = "kube-scheduler"
	portKwok       = "kwok"
)

// PortKeys are the keys of Spec.Ports.
func PortKeys() []string {
	return []string{portEtcd, portEtcdPeer, portAPIServer, portController, portScheduler, portKwok}
}

// Node is one simulated node.
type Node struct {
	Name   string `json:"name"`
	Region string `json:"region"` // its topology.kubernetes.io labels
	Zone   string `json:"zone"`
}

// Spec describes a control plane. Its many methods are short: each derives a path, a process or a kubeconfig from these few fields.
type Spec struct {
	Name          string         `json:"name"`
	Dir           string         `json:"-"`     // the folder with all its files
	Binaries      string         `json:"-"`     // the folder with its programs
	Ports         map[string]int `json:"ports"` // loopback ports: all of PortKeys, and more that others asked for
	Nodes         []Node         `json:"nodes"`
	Audit         bool           `json:"audit,omitempty"`         // write every request's metadata to AuditLog
	Fsync         bool           `json:"fsync,omitempty"`         // etcd syncs its writes to disk: slower, as in production
	APIServerArgs []string       `json:"apiServerArgs,omitempty"` // appended, so that they win
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (s Spec) Kubeconfig() string { return filepath.Join(s.Dir, "kubeconfig") }

// ManagerKubeconfig is the path of the kubeconfig of the manager. It uses the service account fairlead-manager, with the permissions
// that config/rbac grants.
func (s Spec) ManagerKubeconfig() string { return s.file("fairlead-manager.conf") }

// CollectorKubeconfig is the path of the kubeconfig of a member's collector. It uses the collector's service account, with the
// permissions that the join granted.
func (s Spec) CollectorKubeconfig() string { return s.file("fairlead-collector.conf") }

// ServingPair returns the files of the certificate for servers of this cluster at 127.0.0.1, of its key, and of the authority that
// signed it.
func (s Spec) ServingPair() (cert, key, authority string) {
	return s.pki(pairServing + ".crt"), s.pki(pairServing + ".key"), s.pki(pairCA + ".crt")
}

// AuditLog is the file to which the API server logs requests, one JSON event per line, if Audit is on.
func (s Spec) AuditLog() string { return filepath.Join(s.Dir, "logs", "audit.log") }

// Data is the folder of its etcd, with all state of the cluster.
func (s Spec) Data() string { return s.file("etcd") }

// Server is the address of the API server.
func (s Spec) Server() string { return "https://" + s.address(portAPIServer) }

// REST is the administrator's client configuration.
func (s Spec) REST() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", s.Name, err)
	}
	config.QPS, config.Burst = 100, 200 // so high that a user waits for the server, not for the client's rate limit
	return config, nil
}

func (s Spec) port(key string) string    { return strconv.Itoa(s.Ports[key]) }
func (s Spec) address(key string) string { return net.JoinHostPort("127.0.0.1", s.port(key)) }
func (s Spec) pki(file string) string    { return filepath.Join(s.Dir, "pki", file) }
func (s Spec) program(n string) string   { return filepath.Join(s.Binaries, n) }
