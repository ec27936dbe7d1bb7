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

// These are suffixes of folders beside etcd's data during a restore. The folder with .coming has the unpacked snapshot, and the folder
// with .before has the data from before the restore.
const (
	suffixComing = ".coming"
	suffixBefore = ".before"
)

// Snapshot writes the host's state, which is the folder of its etcd, into a new file. The host is stopped meanwhile. If it ran before,
// Snapshot starts it again, also after an error.
func (s *Sandbox) Snapshot(ctx context.Context, file string) error {
	return s.withHost(ctx, func(host cluster.Spec) error {
		if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("taking a snapshot of %s: file %s exists; give the name of a new file", HostName, file)
		}
		stopped, err := hostIsStopped(ctx, s.super)
		if err != nil {
			return err
		}
		if err := s.super.Stop(ctx, HostName); err != nil {
			return fmt.Errorf("stopping %s: %w", HostName, err)
		}
		err = pack(file, label{Sandbox: s.Name, Created: s.state.get().Created, Taken: time.Now().UTC().Truncate(time.Second)}, host.Data())
		if !stopped {
			err = errors.Join(err, s.start(context.WithoutCancel(ctx), HostName))
		}
		return err
	})
}

// Restore brings the host back to the state of a snapshot. It reads the whole file before it changes anything. If the host does not
// start with the snapshot's data, Restore puts the earlier data back.
func (s *Sandbox) Restore(ctx context.Context, file string) error {
	return s.withHost(ctx, func(host cluster.Spec) error {
		coming := host.Data() + suffixComing
		if err := unpack(file, label{Sandbox: s.Name, Created: s.state.get().Created}, coming); err != nil {
			return errors.Join(err, os.RemoveAll(coming))
		}
		if err := s.super.Stop(ctx, HostName); err != nil {
			return fmt.Errorf("stopping %s: %w", HostName, err)
		}
		ctx := context.WithoutCancel(ctx) // from here on the user cannot interrupt the restore: half a restore would leave the host without data
		if err := exchange(host); err != nil {
			return errors.Join(err, s.start(ctx, HostName))
		}
		if err := s.startRestored(ctx, host); err != nil {
			return fmt.Errorf("%s does not start with the data in %s; it has its earlier data again: %w", HostName, file, err)
		}
		return os.RemoveAll(host.Data() + suffixBefore)
	})
}

// withHost calls the function do with the description of the host, while no other command can change the sandbox. First it puts back
// the data of a restore that was interrupted.
func (s *Sandbox) withHost(ctx context.Context, do func(host cluster.Spec) error) error {
	host, err := s.Cluster(HostName)
	if err != nil {
		return err
	}
	return s.locked(ctx, nil, func() error {
		if err := settleRestore(host); err != nil {
			return err
		}
		return do(host)
	})
}

// startRestored starts the host with the restored data. If the host does not become ready, it puts back the data from before the restore, starts the host with
// that data, and returns an error.
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

// exchange puts the unpacked snapshot in the place of the cluster's data, and keeps the earlier data beside it.
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

// settleRestore puts back the earlier data if a restore was interrupted between the two renames of exchange. The data folder is then
// missing, and etcd would start without any data. settleRestore leaves the other folders of the interrupted restore where they are, until
// the next restore.
func settleRestore(c cluster.Spec) error {
	if _, err := os.Lstat(c.Data()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(c.Data()+suffixBefore, c.Data()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("putting back the data of %s: %w", c.Name, err)
	}
	return nil
}

// hostIsStopped reports whether a user or a test has stopped the host.
func hostIsStopped(ctx context.Context, super *supervisor.Client) (bool, error) {
	all, err := super.Status(ctx)
	for _, p := range all {
		if p.Cluster == HostName && p.Phase == supervisor.PhaseStopped {
			return true, err
		}
	}
	return false, err
}
