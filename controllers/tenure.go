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

// margin is how long before somebody else may take the lease writes end: what is on its way has to arrive.
const margin = 5 * time.Second

// tenure knows until when this manager is surely the leader: until its lease may be taken, counted from the start of its last
// renewal, less a margin. A manager that was frozen (a paused machine, SIGSTOP) wakes up in the middle of a
// push, long after somebody else has taken over, and its elector is not the first to run again.
type tenure struct {
	resourcelock.Interface
	clock    clock.PassiveClock
	validFor time.Duration

	mu      sync.Mutex
	renewed time.Time
}

// newTenure makes the lease that options describe, as controller-runtime would.
func newTenure(config *rest.Config, options ctrl.Options, clk clock.PassiveClock) (*tenure, error) {
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
	return &tenure{Interface: lease, clock: clk, validFor: *options.LeaseDuration - margin}, nil
}

// Create implements resourcelock.Interface.
func (t *tenure) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return t.note(record, func() error { return t.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (t *tenure) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return t.note(record, func() error { return t.Interface.Update(ctx, record) })
}

func (t *tenure) note(record resourcelock.LeaderElectionRecord, write func() error) error {
	began := t.clock.Now()
	if err := write(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = began
	if record.HolderIdentity != t.Identity() { // it is given back
		t.renewed = time.Time{}
	}
	return nil
}

// check says why this manager may not write now, nil when it may.
func (t *tenure) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	// A machine that sleeps stops the monotonic clock, a wall clock that is set back stops the other one.
	age := max(now.Sub(t.renewed), now.Round(0).Sub(t.renewed.Round(0)))
	if age < t.validFor {
		return nil
	}
	return &notLeadingError{age: age, never: t.renewed.IsZero()}
}

// notLeadingError says that another manager may be the leader by now.
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
