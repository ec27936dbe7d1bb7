// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxMembers is what a machine that holds a control plane in half a gigabyte may be asked for by mistake.
const maxMembers = 64

// Options is what a sandbox should have.
type Options struct {
	Name    string // a DNS label
	Members int    // fewer than there are leaves those that are there
	OLM     bool   // OLM and a catalog on every member
	Bare    bool   // plain clusters, nothing of Fairlead on them
	Audit   bool   // API servers log who asked for what (Spec.AuditLog)
	Fsync   bool   // etcd syncs to the disk, as it must where figures are to mean something

	APIServerArgs []string // more flags for every API server; they win

	ManagerArgs []string // more flags for Fairlead's manager; they win
	ManagerEnv  []string // and more of its environment, as in NAME=value

	// Programs is the folder with Fairlead's manager and collector; empty = the folder of this program.
	Programs string

	// Supervisor is the command that must call Supervise for this name; empty = this program with
	// `sandbox supervise --name NAME`, which hostctl and SuperviseIfAsked understand.
	Supervisor []string
}

// Check says what is wrong with the options, in words for whoever typed them.
func (o Options) Check() error {
	if msgs := validation.IsDNS1123Label(o.Name); len(msgs) > 0 {
		return fmt.Errorf("sandbox name %q: %s", o.Name, msgs[0])
	}
	if o.Members < 0 || o.Members > maxMembers {
		return fmt.Errorf("members: %d is not between 0 and %d", o.Members, maxMembers)
	}
	return nil
}

// with is what a sandbox made with o becomes when it is asked for next: never less than it is.
func (o Options) with(next Options) Options {
	o.Name = next.Name
	o.Members = max(o.Members, next.Members)
	o.OLM, o.Audit, o.Fsync = o.OLM || next.OLM, o.Audit || next.Audit, o.Fsync || next.Fsync
	o.Bare = next.Bare
	if next.APIServerArgs != nil {
		o.APIServerArgs = slices.Clone(next.APIServerArgs)
	}
	return o
}

func supervisorCommand(name string, given []string) ([]string, error) {
	if len(given) > 0 {
		return given, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program to supervise the sandbox: %w", err)
	}
	return []string{self, "sandbox", "supervise", "--name", name}, nil
}
