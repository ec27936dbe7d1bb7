// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// Suffixes of the folders beside a cluster's etcd data during a restore: .coming is the unpacked snapshot, .before the previous data.
const (
	suffixComing = ".coming"
	suffixBefore = ".before"
)

// Snapshot writes the host's state into a new file: its etcd's folder, read while the host is stopped. A host that ran before runs again
// when Snapshot returns, also after an error.
func (s *Sandbox) Snapshot(ctx context.Context, file string) error {
	return s.withHost(ctx, func(host cluster.Spec) error {
		if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("taking a snapshot of %s: file %s exists; give the name of a new file", HostName, file)
		}
		stopped, err := s.isStopped(ctx)
		if err != nil {
			return err
		}
		if err := s.super.Stop(ctx, HostName); err != nil {
			return fmt.Errorf("stopping %s: %w", HostName, err)
		}
		err = pack(file, label{Sandbox: s.Name, Created: s.born(), Taken: time.Now().UTC().Truncate(time.Second)}, host.Data())
		if !stopped {
			err = errors.Join(err, s.start(context.WithoutCancel(ctx), HostName))
		}
		return err
	})
}

// Restore resets the host to the state of a snapshot. It reads the whole file before it changes anything. If the host does not start
// with the new data, it gets its own data back.
func (s *Sandbox) Restore(ctx context.Context, file string) error {
	return s.withHost(ctx, func(host cluster.Spec) error {
		coming := host.Data() + suffixComing
		if err := unpack(file, label{Sandbox: s.Name, Created: s.born()}, coming); err != nil {
			return errors.Join(err, os.RemoveAll(coming))
		}
		if err := s.super.Stop(ctx, HostName); err != nil {
			return fmt.Errorf("stopping %s: %w", HostName, err)
		}
		ctx := context.WithoutCancel(ctx) // a restore that stops half-way is worse than one that takes long
		if err := exchange(host); err != nil {
			return errors.Join(err, s.start(ctx, HostName))
		}
		if err := s.startRestored(ctx, host); err != nil {
			return fmt.Errorf("%s does not start with the data in %s; it has its earlier data again: %w", HostName, file, err)
		}
		return os.RemoveAll(host.Data() + suffixBefore)
	})
}

// withHost changes the host's data while no other command changes the sandbox. Before that it cleans up after a restore that was
// interrupted.
func (s *Sandbox) withHost(ctx context.Context, do func(host cluster.Spec) error) error {
	host, err := s.Cluster(HostName)
	if err != nil {
		return err
	}
	return s.locked(ctx, nil, func() error {
		if err := s.settleRestore(HostName); err != nil {
			return err
		}
		return do(host)
	})
}

// startRestored starts the host. If it does not come up, it starts it once more with the data from before the restore.
func (s *Sandbox) startRestored(ctx context.Context, host cluster.Spec) error {
	within, cancel := context.WithTimeoutCause(ctx, upWithin, fmt.Errorf("not up within %s", upWithin))
	defer cancel()
	err := s.super.Start(within, HostName)
	if err == nil {
		err = s.super.WaitReady(within, HostName)
	}
	if err == nil {
		return nil
	}
	back := s.super.Stop(ctx, HostName)
	if back == nil {
		back = os.RemoveAll(host.Data())
	}
	return errors.Join(err, back, s.start(ctx, HostName))
}

// exchange replaces the cluster's data by the unpacked snapshot, and keeps the previous data.
func exchange(c cluster.Spec) error {
	data := c.Data()
	if err := os.RemoveAll(data + suffixBefore); err != nil {
		return fmt.Errorf("restoring %s: %w", c.Name, err)
	}
	if err := os.Rename(data, data+suffixBefore); err != nil {
		return fmt.Errorf("restoring %s: %w", c.Name, err)
	}
	if err := os.Rename(data+suffixComing, data); err != nil {
		return errors.Join(fmt.Errorf("restoring %s: %w", c.Name, err), os.Rename(data+suffixBefore, data))
	}
	return nil
}

// settleRestore puts back the data of a cluster whose restore was interrupted between the two renames. Otherwise etcd would find no
// folder and start with an empty one. The next restore removes all other files of the interrupted one.
func (s *Sandbox) settleRestore(name string) error {
	c, err := s.Cluster(name)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.Data()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(c.Data()+suffixBefore, c.Data()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("putting back the data of %s: %w", name, err)
	}
	return nil
}

// isStopped reports whether the host is stopped on purpose.
func (s *Sandbox) isStopped(ctx context.Context) (bool, error) {
	all, err := s.super.Status(ctx)
	for _, p := range all {
		if p.Cluster == HostName && p.Phase == supervisor.PhaseStopped {
			return true, err
		}
	}
	return false, err
}

// born is the time at which the sandbox was made. A new sandbox of the same name has other keys.
func (s *Sandbox) born() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Created
}
