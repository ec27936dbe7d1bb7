// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"os"

	"k8s.io/client-go/rest"
)

// Variable is the environment variable that chooses the provider.
const Variable = "FAIRLEAD_E2E_PROVIDER"

// These are the values of Variable.
const (
	Sandbox = "sandbox"
	Kind    = "kind"
)

// Host is the host's name with every provider.
const Host = "host"

// Chosen returns the provider that Variable names; by default Sandbox.
func Chosen() string {
	if name := os.Getenv(Variable); name != "" {
		return name
	}
	return Sandbox
}

// Provider is a host with joined members.
type Provider interface {
	// MemberNames are the names of the members, in order.
	MemberNames() []string
	// RESTConfig returns a client configuration with an administrator's rights for a cluster.
	RESTConfig(cluster string) (*rest.Config, error)
	// Kubeconfig returns the path of a cluster's kubeconfig. For "" it returns the path of a kubeconfig with a context for
	// every cluster, in which the host's context is the current one.
	Kubeconfig(cluster string) (string, error)
	// Environment returns environment variables for the programs that the suite runs. One of them is PATH, with a folder that has kubectl.
	Environment() []string
	// Stop makes a cluster unavailable, as in an outage.
	Stop(ctx context.Context, cluster string) error
	// Start makes a stopped cluster available again, and waits until its API server responds.
	Start(ctx context.Context, cluster string) error
	// ManagerLog returns the log of the host's manager.
	ManagerLog(ctx context.Context) []byte
	// Export saves data that helps to diagnose a failed run and that no other method returns, for example logs of nodes. It writes
	// files into the folder dir.
	Export(ctx context.Context, dir string) error
	// Down deletes all clusters.
	Down(ctx context.Context) error
}
