// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxMembers bounds the members. Each needs about half a gigabyte, so a typing error could use up the machine's memory.
const maxMembers = 64

// Options describe a sandbox.
type Options struct {
	Name    string // a DNS label
	Members int    // a number below the present one removes no member
	OLM     bool   // install OLM and a catalog on every member
	Bare    bool   // do not install Fairlead
	Audit   bool   // API servers log all requests (see Spec.AuditLog)
	Fsync   bool   // etcd syncs to disk, as in production; benchmarks need that

	// MoreMemory lets the programs of the clusters collect garbage as seldom as in production. A test that keeps API servers busy then takes
	// a third less CPU, and four clusters about a gigabyte more memory.
	MoreMemory bool

	APIServerArgs []string // further flags for every API server; they override the sandbox's own

	ManagerArgs []string // further flags for the manager; they override the sandbox's own
	ManagerEnv  []string // further environment variables for the manager, as NAME=value

	// Programs is the folder with Fairlead's manager and collector; "" means the folder of the running program.
	Programs string

	// Supervisor is the command that Up starts as the supervisor. It has to call Supervise with the sandbox's name. The default is the
	// running program with `sandbox supervise --name NAME`, which both hostctl and SuperviseIfAsked understand.
	Supervisor []string
}

// Check returns an error, for the user, if no sandbox can have these options.
func (o Options) Check() error {
	if msgs := validation.IsDNS1123Label(o.Name); len(msgs) > 0 {
		return fmt.Errorf("sandbox name %q: %s", o.Name, msgs[0])
	}
	if o.Members < 0 || o.Members > maxMembers {
		return fmt.Errorf("members: %d is not between 0 and %d", o.Members, maxMembers)
	}
	return nil
}

// The method with returns the options for a further call of Up. o are the options that the sandbox has, and next those of the call.
// The result has at least as many members as the sandbox has. It has OLM, audit logs, fsync or more memory if o or next has it.
func (o Options) with(next Options) Options {
	o.Name = next.Name
	o.Members = max(o.Members, next.Members)
	o.OLM, o.Audit, o.Fsync = o.OLM || next.OLM, o.Audit || next.Audit, o.Fsync || next.Fsync
	o.MoreMemory = o.MoreMemory || next.MoreMemory
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
		return nil, fmt.Errorf("finding the path of hostctl itself, which runs again as the supervisor of the sandbox: %w", err)
	}
	return []string{self, "sandbox", "supervise", "--name", name}, nil
}
