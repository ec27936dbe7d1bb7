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

// Spec is all there is to know about a control plane.
type Spec struct {
	Name          string         `json:"name"`
	Dir           string         `json:"-"`     // everything that it writes is in here
	Binaries      string         `json:"-"`     // the folder with its programs
	Ports         map[string]int `json:"ports"` // all of PortKeys, on loopback; others may have theirs here too
	Nodes         []Node         `json:"nodes"`
	Audit         bool           `json:"audit,omitempty"`         // write every request's metadata to AuditLog
	Fsync         bool           `json:"fsync,omitempty"`         // etcd syncs its writes to the disk: slower, and what a benchmark wants
	APIServerArgs []string       `json:"apiServerArgs,omitempty"` // appended, so that they win
}

// Kubeconfig is the administrator's.
func (s Spec) Kubeconfig() string { return filepath.Join(s.Dir, "kubeconfig") }

// ManagerKubeconfig is the path of the kubeconfig of user fairlead-manager, who may do there what the cluster grants.
func (s Spec) ManagerKubeconfig() string { return s.file("fairlead-manager.conf") }

// CollectorKubeconfig is the path of the kubeconfig that speaks as the service account of a member's collector, who may do
// there what joining granted.
func (s Spec) CollectorKubeconfig() string { return s.file("fairlead-collector.conf") }

// ServingPair are the files of the certificate, and its key, for whatever serves at 127.0.0.1 for this cluster, and
// the authority that signed it.
func (s Spec) ServingPair() (cert, key, authority string) {
	return s.pki(pairServing + ".crt"), s.pki(pairServing + ".key"), s.pki(pairCA + ".crt")
}

// AuditLog is where requests are written, one JSON event a line, if Audit is on.
func (s Spec) AuditLog() string { return filepath.Join(s.Dir, "logs", "audit.log") }

// Data is the folder of its etcd: all that the cluster remembers.
func (s Spec) Data() string { return s.file("etcd") }

// Server is the address of the API server.
func (s Spec) Server() string { return "https://" + s.address(portAPIServer) }

// REST is the administrator's client configuration.
func (s Spec) REST() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", s.Name, err)
	}
	config.QPS, config.Burst = 100, 200 // a person at a sandbox waits for the server, not for the client
	return config, nil
}

func (s Spec) port(key string) string    { return strconv.Itoa(s.Ports[key]) }
func (s Spec) address(key string) string { return net.JoinHostPort("127.0.0.1", s.port(key)) }
func (s Spec) pki(file string) string    { return filepath.Join(s.Dir, "pki", file) }
func (s Spec) program(n string) string   { return filepath.Join(s.Binaries, n) }
