// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

const (
	// idleFor is the length of W2. calm is the time for which Fairlead's processes must be almost idle to count as quiet.
	idleFor = 120 * time.Second
	calm    = 5 * time.Second
	// nothing is the CPU time within calm that still counts as idle, in seconds.
	nothing = 0.03
)

// quiet waits until Fairlead's processes are idle.
func (b *bed) quiet(ctx context.Context) error {
	var last float64
	since := time.Time{}
	return b.until(ctx, patience, func(ctx context.Context) (string, error) {
		processes, err := b.processes(ctx)
		if err != nil {
			return "", err
		}
		sum := 0.0
		for _, s := range processes {
			cpu, err := cpuOf(s.PID)
			if err != nil {
				return "", err
			}
			sum += cpu
		}
		if since.IsZero() || sum-last > nothing || sum < last {
			last, since = sum, time.Now()
		}
		if time.Since(since) >= calm {
			return "", nil
		}
		return "waiting until there is nothing to do any more", nil
	})
}

// idle is W2.
func idle(ctx context.Context, b *bed) (*reading, error) {
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	err = b.until(ctx, 2*idleFor, func(context.Context) (string, error) {
		if left := idleFor - time.Since(m.started); left > 0 {
			return fmt.Sprintf("%d s to go", int(left.Seconds())), nil
		}
		return "", nil
	})
	if err != nil {
		return nil, err
	}
	return m.end(ctx, 0)
}

// startAgain is W5: from the manager's graceful end until the next manager is idle.
func startAgain(ctx context.Context, b *bed) (*reading, error) {
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.restartManager(ctx); err != nil {
		return nil, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	r, err := m.end(ctx, 0)
	if err != nil {
		return nil, err
	}
	r.Seconds = round(r.Seconds - calm.Seconds())
	written, err := m.writtenToHost()
	if err != nil {
		return nil, err
	}
	r.More = map[string]float64{"hostWritesWithoutLeases": float64(len(written))}
	if len(written) > 0 || r.HostEvents > 0 {
		return nil, fmt.Errorf("a restart of a fleet that is well tells of itself: %d events, and %d writes to the host, as in: %s",
			r.HostEvents, len(written), strings.Join(written[:min(len(written), 10)], "; "))
	}
	return r, nil
}

// writtenToHost returns the manager's writes to the host since the meter began, without those of its lease.
func (m *meter) writtenToHost() ([]string, error) {
	requests, err := m.marks[sandbox.HostName].Requests(isFairleads, audit.Request.IsWrite)
	if err != nil {
		return nil, err
	}
	var written []string
	for _, one := range requests {
		if one.Object.Resource != "leases" {
			written = append(written, one.What())
		}
	}
	return written, nil
}

// restartManager ends the manager, and waits until the next one leads.
func (b *bed) restartManager(ctx context.Context) error {
	before, err := b.manager(ctx)
	if err != nil {
		return err
	}
	leader, err := b.leader(ctx)
	if err != nil {
		return err
	}
	p, err := os.FindProcess(before)
	if err != nil {
		return err
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return b.until(ctx, patience, func(ctx context.Context) (string, error) {
		now, err := b.leader(ctx)
		if err != nil || now == "" || now == leader {
			return "the next manager does not lead yet", err
		}
		return "", b.box.WaitReady(ctx, sandbox.HostName, sandbox.ManagerProcess)
	})
}

// manager returns the pid of the manager.
func (b *bed) manager(ctx context.Context) (int, error) {
	processes, err := b.processes(ctx)
	if err != nil {
		return 0, err
	}
	for _, s := range processes {
		if s.Name == sandbox.ManagerProcess {
			return s.PID, nil
		}
	}
	return 0, fmt.Errorf("no manager runs in sandbox %s", b.name)
}
