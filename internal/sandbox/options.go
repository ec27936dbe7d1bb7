// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxMembers bounds the number of members, because a typing error would be expensive: each takes about half a gigabyte
// of memory.
const maxMembers = 64

// Options describes the sandbox that Up brings up.
type Options struct {
	Name    string // a DNS label
	Members int    // a number below that of the existing members removes none
	OLM     bool   // OLM and a catalog on every member
	Bare    bool   // plain clusters without Fairlead
	Audit   bool   // API servers log all requests (Spec.AuditLog)
	Fsync   bool   // etcd syncs to disk, as in production; benchmarks need it

	APIServerArgs []string // more flags for every API server; they override the sandbox's own

	ManagerArgs []string // more flags for Fairlead's manager; they override the sandbox's own
	ManagerEnv  []string // more environment variables for it, as in NAME=value

	// Programs is the folder with Fairlead's manager and collector; empty = the folder of this program.
	Programs string

	// Supervisor is the command that must call Supervise for this name; empty = this program with
	// `sandbox supervise --name NAME`, which hostctl and SuperviseIfAsked understand.
	Supervisor []string
}

// Check returns an error for options that no sandbox can have. The message is for the user.
func (o Options) Check() error {
	if msgs := validation.IsDNS1123Label(o.Name); len(msgs) > 0 {
		return fmt.Errorf("sandbox name %q: %s", o.Name, msgs[0])
	}
	if o.Members < 0 || o.Members > maxMembers {
		return fmt.Errorf("members: %d is not between 0 and %d", o.Members, maxMembers)
	}
	return nil
}

// with merges the options of an existing sandbox with those of a new Up. The result never has less than the sandbox has.
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
