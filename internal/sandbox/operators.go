// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

const (
	// OperatorsProcess is the name of the process that watches the demo operator's Deployments on all members.
	OperatorsProcess = "operators"
	// sandboxItself is in place of a cluster's name in processes that belong to no cluster. They go on when a cluster stops.
	sandboxItself = "sandbox"
	// operatorPrefix begins the name of an operator's process: operator_NAMESPACE_DEPLOYMENT.
	operatorPrefix = "operator"
	// separator is a character that no name of a namespace or Deployment has.
	separator = "_"
)

// runOperators makes the supervisor run `hostctl sandbox run-operators`. That command runs the demo operator as processes, because pods are simulated.
func (s *Sandbox) runOperators(ctx context.Context, o Options) error {
	program, stamp, err := o.itself()
	if err == nil {
		err = s.super.Apply(ctx, supervisor.Process{
			Cluster: sandboxItself, Name: OperatorsProcess, Path: program,
			Args:  []string{"sandbox", "run-operators", "--name", s.Name},
			Stamp: strings.Join(append(s.Members(), stamp), " "), // another list of members needs a restart: the process reads it only at its start
			Env:   small, Unset: []string{"KUBECONFIG"},
		})
	}
	if err != nil {
		return fmt.Errorf("starting the command that runs the demo operator: %w", err)
	}
	return nil
}

// small makes a program with little work need only about 40 MB of memory.
var small = []string{"GOGC=30", "GOMAXPROCS=2"}

// RunOperators runs the demo operator for each of its Deployments on the members, as processes of the supervisor, until ctx ends. For a stopped member it waits
// until the member starts. program is the path of hostctl. The operators' processes go on when ctx has ended.
func RunOperators(ctx context.Context, name, program string) error {
	s, err := Open(name)
	if err != nil {
		return err
	}
	stamp, err := stampOf(program)
	if err != nil {
		return fmt.Errorf("running the demo operator: %w", err)
	}
	watches, ctx := errgroup.WithContext(ctx)
	for _, member := range s.Members() {
		watches.Go(func() error {
			if err := s.runOperatorsOf(ctx, member, program, stamp); err != nil {
				return fmt.Errorf("running the demo operator on %s: %w", member, err)
			}
			return nil
		})
	}
	return watches.Wait()
}

func (s *Sandbox) runOperatorsOf(ctx context.Context, member, program, stamp string) error {
	c, err := s.Cluster(member)
	if err != nil {
		return err
	}
	config, err := c.REST()
	if err != nil {
		return err
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("member", member))
	return demooperator.Watch(ctx, demooperator.WatchOptions{
		REST: config, Dir: filepath.Join(c.Dir, "operators"),
		Start: func(ctx context.Context, i demooperator.Instance) error {
			return s.AddProcess(ctx, operatorProcess(member, program, stamp, i))
		},
		Stop: func(ctx context.Context, deployment cache.ObjectName) error {
			return s.RemoveProcess(ctx, member, operatorName(deployment))
		},
		Running: func(ctx context.Context) ([]cache.ObjectName, error) {
			processes, err := s.Processes(ctx)
			return operatorsAmong(processes, member), err
		},
	})
}

// operatorProcess returns the process for a Deployment. Its stamp has the Deployment's uid, so another Deployment of the same name gets another process.
func operatorProcess(member, program, stamp string, i demooperator.Instance) supervisor.Process {
	return supervisor.Process{
		Cluster: member, Name: operatorName(cache.NewObjectName(i.Namespace, i.Deployment)), Path: program,
		Args: []string{"sandbox", "demo-operator", "--kubeconfig", i.Kubeconfig, "--namespace", i.WatchNamespace, "--version", i.Version},
		Env:  small, Unset: []string{"KUBECONFIG"}, Stamp: string(i.UID) + " " + stamp, After: []string{binaries.APIServer},
	}
}

func operatorName(deployment cache.ObjectName) string {
	return strings.Join([]string{operatorPrefix, deployment.Namespace, deployment.Name}, separator)
}

func operatorsAmong(processes []supervisor.Status, member string) []cache.ObjectName {
	var list []cache.ObjectName
	for _, p := range processes {
		if parts := strings.Split(p.Name, separator); p.Cluster == member && len(parts) == 3 && parts[0] == operatorPrefix {
			list = append(list, cache.NewObjectName(parts[1], parts[2]))
		}
	}
	return list
}

// itself returns the path and the stamp of hostctl: the one in Options.Programs, or by default the running program.
func (o Options) itself() (path, stamp string, err error) {
	if o.Programs != "" {
		return o.program("hostctl")
	}
	if path, err = os.Executable(); err != nil {
		return "", "", fmt.Errorf("finding this program: %w", err)
	}
	stamp, err = stampOf(path)
	return path, stamp, err
}

// stampOf returns a text that differs for each build of a program.
func stampOf(program string) (string, error) {
	info, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano()), nil
}
