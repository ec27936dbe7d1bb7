// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"os"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// OfSandbox makes a sandbox a Provider.
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

// Export implements Provider. It writes nothing: a sandbox keeps its logs in its own folder until the suite takes it down.
func (OfSandbox) Export(context.Context, string) error { return nil }

// MemberNames implements Provider.
func (s OfSandbox) MemberNames() []string { return s.Members() }
