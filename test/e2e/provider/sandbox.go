// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"os"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// OfSandbox provides the clusters of a sandbox.
type OfSandbox struct{ *sandbox.Sandbox }

var _ Provider = OfSandbox{}

// Environment implements Provider.
func (s OfSandbox) Environment() []string {
	return []string{"KUBECACHEDIR=" + s.KubectlCache(), "PATH=" + s.Binaries() + string(os.PathListSeparator) + os.Getenv("PATH")}
}

// ManagerLog implements Provider.
func (s OfSandbox) ManagerLog(ctx context.Context) []byte {
	all, err := s.Processes(ctx)
	if err != nil {
		return []byte(err.Error())
	}
	for _, p := range all {
		if p.Cluster != sandbox.HostName || p.Name != sandbox.ManagerProcess {
			continue
		}
		content, err := os.ReadFile(p.Log)
		if err != nil {
			return []byte(err.Error())
		}
		return content
	}
	return []byte("the sandbox runs no manager")
}

// Export implements Provider. A sandbox keeps its logs in its folder until it is taken down.
func (OfSandbox) Export(context.Context, string) error { return nil }

// MemberNames implements Provider.
func (s OfSandbox) MemberNames() []string { return s.Members() }
