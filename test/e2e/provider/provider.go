// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"os"

	"k8s.io/client-go/rest"
)

// Variable is the environment variable that names the provider of the suite's clusters.
const Variable = "FAIRLEAD_E2E_PROVIDER"

// Names of providers.
const (
	Sandbox = "sandbox"
	Kind    = "kind"
)

// Host is the name of the host among the clusters of every provider.
const Host = "host"

// Chosen returns the name of the provider that the environment chooses.
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
	// RESTConfig is the client configuration of a cluster's administrator.
	RESTConfig(cluster string) (*rest.Config, error)
	// Kubeconfig is the path of a cluster's kubeconfig. For "" it is a kubeconfig with a context for each cluster, and
	// host is the current one.
	Kubeconfig(cluster string) (string, error)
	// Environment returns variables for programs that the suite runs, among them a PATH with kubectl.
	Environment() []string
	// Stop makes a cluster unavailable, as in an outage. Start ends that, and waits until the API server answers.
	Stop(ctx context.Context, cluster string) error
	Start(ctx context.Context, cluster string) error
	// ManagerLog returns the log of the host's manager.
	ManagerLog(ctx context.Context) []byte
	// Export writes data about the clusters that only this provider has into a folder.
	Export(ctx context.Context, dir string) error
	// Down takes all clusters away.
	Down(ctx context.Context) error
}
