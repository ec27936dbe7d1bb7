// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// margin is how long before another manager may take the lease the writes end: requests under way have to arrive.
const margin = 5 * time.Second

// leaseGuard knows until when this manager is surely the leader: until another manager may take the lease, counted from the
// start of the last renewal, less a margin. A manager that was frozen (a paused machine, SIGSTOP) wakes up in the middle of
// a push, long after another one has taken over. Its leader elector need not be the first goroutine to run again.
type leaseGuard struct {
	resourcelock.Interface
	clock    clock.PassiveClock
	validFor time.Duration

	mu      sync.Mutex
	renewed time.Time
}

// newLeaseGuard makes the lease that options describe, as controller-runtime would.
func newLeaseGuard(config *rest.Config, options ctrl.Options, clk clock.PassiveClock) (*leaseGuard, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("making the lease: %w", err)
	}
	as := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	lease, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, options.LeaderElectionNamespace, options.LeaderElectionID,
		as, rest.CopyConfig(config), *options.RenewDeadline)
	if err != nil {
		return nil, fmt.Errorf("making the lease: %w", err)
	}
	return &leaseGuard{Interface: lease, clock: clk, validFor: *options.LeaseDuration - margin}, nil
}

// Create implements resourcelock.Interface.
func (g *leaseGuard) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.note(record, func() error { return g.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (g *leaseGuard) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.note(record, func() error { return g.Interface.Update(ctx, record) })
}

func (g *leaseGuard) note(record resourcelock.LeaderElectionRecord, write func() error) error {
	began := g.clock.Now()
	if err := write(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.renewed = began
	if record.HolderIdentity != g.Identity() { // it is given back
		g.renewed = time.Time{}
	}
	return nil
}

// check returns why this manager may not write now, nil when it may.
func (g *leaseGuard) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	// A machine that sleeps stops the monotonic clock, a wall clock that is set back stops the other one.
	age := max(now.Sub(g.renewed), now.Round(0).Sub(g.renewed.Round(0)))
	if age < g.validFor {
		return nil
	}
	return &notLeadingError{age: age, never: g.renewed.IsZero()}
}

// notLeadingError reports that another manager may be the leader by now.
type notLeadingError struct {
	age   time.Duration
	never bool
}

func (e *notLeadingError) Error() string {
	if e.never {
		return "this manager does not hold the lease, and writes nothing to members"
	}
	return fmt.Sprintf("the lease was last renewed %s ago, another manager may hold it by now: nothing is written to members", e.age.Round(time.Second))
}
