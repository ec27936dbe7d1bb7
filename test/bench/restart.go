// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

// startAgain runs the work W5, which restarts the manager twice. The reading has the cost of the first restart, a graceful one: from
// SIGTERM until the next manager is idle. Only the field Seconds is about the second restart: it is the time from SIGKILL until a new
// object is on every member.
func startAgain(ctx context.Context, b *bed) (*reading, error) {
	r, err := b.endGracefully(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	r.More["restartSeconds"] = r.Seconds
	r.Seconds, err = b.kill(ctx)
	return r, err
}

// endGracefully ends the manager with SIGTERM, and returns the cost from then until the next manager is idle.
func (b *bed) endGracefully(ctx context.Context) (*reading, error) {
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	m, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	defer m.stop()
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
	r.Seconds = round(r.Seconds - b.measured.calm().Seconds())
	r.More = make(map[string]float64)
	if _, ours := b.measured.(fairlead); !ours { // only Fairlead promises not to write after a restart
		return r, nil
	}
	written, err := m.writtenToHost()
	if err != nil {
		return nil, err
	}
	r.More["hostWritesWithoutLeases"] = float64(len(written))
	if len(written) > 0 || r.HostEvents > 0 {
		return nil, fmt.Errorf("a restart of the manager of a healthy fleet caused %d events and %d writes to the host, for example: %s",
			r.HostEvents, len(written), strings.Join(written[:min(len(written), 10)], "; "))
	}
	return r, nil
}

// kill kills the manager with SIGKILL and creates a wrapper at once. It returns the seconds from the kill until every member has the
// wrapper's object. Then it deletes the wrapper.
func (b *bed) kill(ctx context.Context) (float64, error) {
	m, err := b.measure(ctx)
	if err != nil {
		return 0, err
	}
	defer m.stop()
	w := b.measured.wrap(b.delivered[0].GetNamespace(), "after-the-kill")
	key := w.GetNamespace() + "/" + w.GetName()
	killed := time.Now()
	if err := signalManager(ctx, b.box, b.measured, syscall.SIGKILL); err != nil {
		return 0, err
	}
	err = b.until(ctx, patience, func(ctx context.Context) (string, error) {
		// The API server admits no wrapper until the webhooks of the next manager respond.
		if err := b.host.Create(ctx, w); err != nil && !apierrors.IsAlreadyExists(err) {
			return "the host refuses the new wrapper, because no manager serves the webhooks yet", err
		}
		return "", nil
	})
	if err != nil {
		return 0, err
	}
	var last time.Time
	err = b.until(ctx, patience, func(context.Context) (string, error) {
		for _, c := range b.members {
			there, err := m.watched[c.name].configMaps()
			if err != nil {
				return "", err
			}
			is, ok := there[key]
			if !ok {
				return "the new object is not on " + c.name, nil
			}
			if is.at.After(last) {
				last = is.at
			}
		}
		return "", nil
	})
	if err != nil {
		return 0, err
	}
	if err := b.host.Delete(ctx, w); client.IgnoreNotFound(err) != nil {
		return round(last.Sub(killed).Seconds()), err
	}
	return round(last.Sub(killed).Seconds()), b.until(ctx, patience, isGone(b.host, w))
}

// isGone returns a condition that holds when the host has no such wrapper any more.
func isGone(host client.Reader, w client.Object) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		err := host.Get(ctx, client.ObjectKeyFromObject(w), w)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return w.GetName() + " is still being removed", err
	}
}

// writtenToHost returns the federation's writes to the host since the call of measure, without those of leases.
func (m *meter) writtenToHost() ([]string, error) {
	requests, err := m.marks[sandbox.HostName].Requests(m.bed.measured.sent, audit.Request.IsWrite)
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

// restartManager ends the manager with SIGTERM, and waits until the next manager leads.
func (b *bed) restartManager(ctx context.Context) error {
	leader, err := b.measured.leader(ctx, b)
	if err != nil {
		return err
	}
	if err := signalManager(ctx, b.box, b.measured, syscall.SIGTERM); err != nil {
		return err
	}
	return b.until(ctx, patience, func(ctx context.Context) (string, error) {
		now, err := b.measured.leader(ctx, b)
		if err != nil || now == "" || now == leader {
			return "the next manager does not lead yet", err
		}
		return "", b.box.WaitReady(ctx, sandbox.HostName, b.measured.manager())
	})
}

// signalManager sends a signal to the manager of a federation in a sandbox.
func signalManager(ctx context.Context, box *sandbox.Sandbox, f federation, signal os.Signal) error {
	pid, err := managerOf(ctx, box, f)
	if err != nil {
		return err
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(signal)
}

// managerOf returns the pid of a federation's main process on the host of a sandbox.
func managerOf(ctx context.Context, box *sandbox.Sandbox, f federation) (int, error) {
	processes, err := processesOf(ctx, box, f)
	if err != nil {
		return 0, err
	}
	for _, s := range processes {
		if s.Name == f.manager() {
			return s.PID, nil
		}
	}
	return 0, fmt.Errorf("no manager runs in sandbox %s", box.Name)
}
