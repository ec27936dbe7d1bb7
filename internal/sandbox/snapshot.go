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

// Folders beside a cluster's etcd while it is restored: coming is being unpacked, before is what stood there.
const (
	suffixComing = ".coming"
	suffixBefore = ".before"
)

// Snapshot writes all that the host remembers into a new file: its etcd's folder, taken while the host stands still. A
// host that ran runs again when it returns, whatever went wrong.
func (s *Sandbox) Snapshot(ctx context.Context, file string) error {
	return s.withHost(ctx, func(host cluster.Spec) error {
		if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("taking a snapshot of %s: %s is there already: give a new file", HostName, file)
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

// Restore makes the host remember what it did when a snapshot of it was taken, and nothing since. The file is read to
// its end before anything is touched. When the host does not come up with it, it gets its own data back.
func (s *Sandbox) Restore(ctx context.Context, file string) error {
	return s.withHost(ctx, func(host cluster.Spec) error {
		coming := host.Data() + suffixComing
		if err := unpack(file, label{Sandbox: s.Name, Created: s.born()}, coming); err != nil {
			return errors.Join(err, os.RemoveAll(coming))
		}
		if err := s.super.Stop(ctx, HostName); err != nil {
			return fmt.Errorf("stopping %s: %w", HostName, err)
		}
		ctx := context.WithoutCancel(ctx) // from here on half of it would be worse than waiting
		if err := exchange(host); err != nil {
			return errors.Join(err, s.start(ctx, HostName))
		}
		if err := s.startRestored(ctx, host); err != nil {
			return fmt.Errorf("%s does not come up with what %s holds and has its own data again: %w", HostName, file, err)
		}
		return os.RemoveAll(host.Data() + suffixBefore)
	})
}

// withHost does something with the host's data while nobody else steers the sandbox, and after what a restore that died may
// have left.
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

// startRestored starts the host, and when it does not come up, once more with the data that it had before.
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

// exchange puts what is coming in the place of the cluster's data, and keeps that.
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

// settleRestore puts the data back of a cluster whose restore died between the two renames: an etcd that finds no folder
// would begin an empty one. What else a dead restore left lying is cleared away by the next.
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

// isStopped says whether the host is stopped on purpose.
func (s *Sandbox) isStopped(ctx context.Context) (bool, error) {
	all, err := s.super.Status(ctx)
	for _, p := range all {
		if p.Cluster == HostName && p.Phase == supervisor.PhaseStopped {
			return true, err
		}
	}
	return false, err
}

// born is when the sandbox was made: one that was made anew under the same name has other keys.
func (s *Sandbox) born() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Created
}
