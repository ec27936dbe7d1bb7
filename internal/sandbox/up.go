// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// upWithin bounds the start of one cluster. A busy machine needs several minutes for it.
const upWithin = 5 * time.Minute

// Up brings the sandbox to the state that o describes, and returns when every cluster works. It leaves running clusters alone, starts
// the others, and adds what is missing. It removes nothing.
func Up(ctx context.Context, o Options, p *progress.Printer) (*Sandbox, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := locate(o.Name)
	if err != nil {
		return nil, err
	}
	needed, err := s.programs(ctx, o, p, Up)
	if err != nil {
		return nil, err
	}
	set, err := binaries.Build(ctx, s.cache, needed, p)
	if err != nil {
		return nil, err
	}
	argv, err := supervisorCommand(o.Name, o.Supervisor)
	if err != nil {
		return nil, err
	}
	waiting := func() { p.Note("another command changes sandbox %s: waiting for it", s.Name) }
	if err := s.locked(ctx, waiting, func() error { return s.up(ctx, o, set, argv, p) }); err != nil {
		return nil, err
	}
	return s, nil
}

// programs returns the names of the programs that the clusters need. If OLM's programs are not built yet, it first starts the clusters
// without OLM: the user can try them while Up builds OLM's programs. The argument up is the function Up, or one of a test.
func (s *Sandbox) programs(
	ctx context.Context, o Options, p *progress.Printer, up func(context.Context, Options, *progress.Printer) (*Sandbox, error),
) ([]string, error) {
	earlier, err := readState(s.dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	case !o.OLM && !earlier.Options.OLM:
		return binaries.ControlPlane(), nil
	}
	built, err := binaries.Built(ctx, s.cache, binaries.OLMPrograms())
	if err != nil {
		return nil, err
	}
	if !built && !earlier.Options.OLM {
		plain := o
		plain.OLM = false
		if _, err := up(ctx, plain, p); err != nil {
			return nil, err
		}
		p.Note("the clusters run without OLM, and hostctl now builds OLM's programs. To use the clusters from another terminal meanwhile, see `hostctl sandbox env --help`")
	}
	return append(binaries.ControlPlane(), binaries.OLMPrograms()...), nil
}

func (s *Sandbox) up(ctx context.Context, o Options, set binaries.Programs, argv []string, p *progress.Printer) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of sandbox %s: %w", s.Name, err)
	}
	if err := set.Link(s.Binaries()); err != nil {
		return err
	}
	if err := s.state.update(ctx, func(st *state) error { return plan(st, s.cache, s.Name, o, set) }); err != nil {
		return err
	}
	if err := s.super.Launch(ctx, argv); err != nil {
		return err
	}
	if err := s.bringUp(ctx, p); err != nil {
		return err
	}
	if err := s.writeKubeconfig(); err != nil {
		return err
	}
	if s.Options().OLM {
		if err := s.runOperators(ctx, o); err != nil {
			return err
		}
		p.Note("pods are simulated, so hostctl runs the demo operator as a process on this machine, with the service account of its Deployment")
	}
	if !o.Bare {
		if err := s.federate(ctx, o, p); err != nil {
			return err
		}
	}
	return pruneBinaries(s.cache)
}

// plan brings the state st of the sandbox with this name up to date: it merges the options o into the state, and adds the clusters that are
// missing. cache is the folder of all sandboxes.
func plan(st *state, cache, name string, o Options, set binaries.Programs) error {
	if st.Created.IsZero() {
		st.Created = time.Now().UTC().Truncate(time.Second)
	}
	o = st.Options.options(name).with(o)
	st.Options, st.Binaries = o.saved(), set.Dir
	for i := 0; i <= o.Members; i++ {
		own := HostName
		if i > 0 {
			own = MemberName(i)
		}
		if slices.ContainsFunc(st.Clusters, func(c cluster.Spec) bool { return c.Name == own }) {
			continue
		}
		taken, err := takenPorts(cache)
		if err != nil {
			return err
		}
		for _, c := range st.Clusters {
			for _, port := range c.Ports {
				taken[port] = true
			}
		}
		ports, err := freePorts(cluster.PortKeys(), taken)
		if err != nil {
			return err
		}
		st.Clusters = append(st.Clusters, cluster.Spec{Name: own, Ports: ports, Nodes: nodesOf(own, PlaceOf(i))})
	}
	for i := range st.Clusters {
		c := &st.Clusters[i]
		c.Audit, c.Fsync, c.MoreMemory, c.APIServerArgs = o.Audit, o.Fsync, o.MoreMemory, o.APIServerArgs
	}
	return nil
}

// bringUp starts all clusters at the same time. That is faster than one after the other, because a cluster often waits and leaves the CPU
// to the others. An error of one cluster does not stop the others.
func (s *Sandbox) bringUp(ctx context.Context, p *progress.Printer) error {
	specs := s.specs()
	errs := make([]error, len(specs))
	var wait sync.WaitGroup
	for i, c := range specs {
		wait.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, upWithin, fmt.Errorf("not up within %s", upWithin))
			defer cancel()
			errs[i] = s.bringUpOne(ctx, c, p)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (s *Sandbox) bringUpOne(ctx context.Context, c cluster.Spec, p *progress.Printer) error {
	step := p.Step("%s: starting", c.Name)
	err := s.startControlPlane(ctx, c)
	if err != nil {
		step.Fail(err)
		return fmt.Errorf("bringing up %s: %w", c.Name, err)
	}
	step.Donef("%s: API server answers", c.Name)
	step = p.Step("%s: waiting for nodes and controllers", c.Name)
	version, err := c.Furnish(ctx)
	if err == nil {
		err = s.super.WaitReady(ctx, c.Name)
	}
	if err == nil {
		err = s.state.update(ctx, func(st *state) error { st.Version = version; return nil })
	}
	if err != nil {
		step.Fail(err)
		return fmt.Errorf("bringing up %s: %w", c.Name, err)
	}
	step.Donef("%s: %d nodes ready, default StorageClass %s", c.Name, len(c.Nodes), cluster.Class(c.Name))
	if s.Options().OLM && c.Name != HostName {
		return s.installOLM(ctx, c, p)
	}
	return nil
}

// startControlPlane starts the processes of a cluster, and returns when etcd and the API server answer.
func (s *Sandbox) startControlPlane(ctx context.Context, c cluster.Spec) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if err := settleRestore(c); err != nil {
		return err
	}
	if err := c.Prepare(time.Now()); err != nil {
		return err
	}
	if err := s.super.Apply(ctx, c.Processes()...); err != nil {
		return err
	}
	if err := s.super.Start(ctx, c.Name); err != nil { // the cluster may have been stopped
		return err
	}
	return s.super.WaitReady(ctx, c.Name, binaries.Etcd, binaries.APIServer)
}

// pruneBinaries removes the builds that no sandbox in the folder cache uses.
func pruneBinaries(cache string) error {
	names, err := Names()
	if err != nil {
		return err
	}
	var inUse []string
	for _, name := range names {
		if st, err := readState(filepath.Join(cache, "sandboxes", name)); err == nil { // a broken sandbox cannot start programs, so its build may be removed
			inUse = append(inUse, st.Binaries)
		}
	}
	return binaries.Prune(cache, inUse, time.Now())
}
