// SPDX-License-Identifier: Apache-2.0

package lease

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
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Guard is the resource lock of client-go's leader elector. It also computes until when this manager is surely the leader. The
// elector alone cannot protect the members. A manager that was frozen (a paused machine, SIGSTOP) may continue in the middle of a
// push after another manager has taken the lease. The frozen manager's elector may notice this only after further writes.
type Guard struct {
	resourcelock.Interface
	clock  clock.Clock
	timing Timing
	proof  Proof

	mu     sync.Mutex
	tenure Tenure
	// holder is the holder of the lease when this manager last read or wrote the lease.
	holder string
	// held is true once the API server has accepted this manager as the holder. From then on this manager does not take back
	// a lease. If the lease then names another holder with the same proof, that holder took the lease after this manager. It
	// is no predecessor, and may be alive.
	held bool
	// takingBack becomes true when a read shows that the holder is a predecessor which is proven dead. It becomes false when
	// the API server accepts the write that takes the lease back, or when a later read shows that another manager has taken
	// the lease first. It stays true after a write without an answer, because the API server may have stored that write.
	takingBack bool
}

// NewGuard makes the Guard for the lease that options name. It sets the fields of options that make the elector use the
// Guard and timing.
func NewGuard(config *rest.Config, options *ctrl.Options, timing Timing, proof Proof, clk clock.Clock) (*Guard, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("making the lease: %w", err)
	}
	as := resourcelock.ResourceLockConfig{Identity: proof.identity(host, string(uuid.NewUUID()))}
	lease, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, options.LeaderElectionNamespace, options.LeaderElectionID,
		as, rest.CopyConfig(config), 2*timing.Request) // client-go gives each request half of this time
	if err != nil {
		return nil, fmt.Errorf("making the lease: %w", err)
	}
	g := &Guard{Interface: lease, clock: clk, timing: timing, proof: proof}
	options.LeaderElectionResourceLockInterface = g
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &timing.Duration, &timing.GiveUp, &timing.Retry
	return g, nil
}

// Get implements resourcelock.Interface. If the lease names another holder, this manager writes nothing to members until it
// holds the lease again. If that holder is a predecessor that is proven dead, Get returns the lease as free, so that the
// elector takes the lease without waiting for its expiry. The elector's write carries the resourceVersion of this read, so
// the write fails if another manager was faster.
func (g *Guard) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := g.Interface.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holder = record.HolderIdentity
	own := g.holder == g.Identity()
	if !own {
		g.tenure = Tenure{}
	}
	g.takingBack = !g.held && (own && g.takingBack || !own && g.proof.covers(g.holder))
	if g.takingBack && !own {
		free := *record
		free.HolderIdentity = ""
		record = &free
	}
	return record, raw, nil
}

// Create implements resourcelock.Interface.
func (g *Guard) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.write(ctx, record, g.Interface.Create)
}

// Update implements resourcelock.Interface. The elector calls Update at the interval Timing.Retry. Update sends a
// renewal to the API server only when one is due.
func (g *Guard) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == g.Identity() && g.isFresh() {
		return nil
	}
	return g.write(ctx, record, g.Interface.Update)
}

// isFresh reports whether the lease need not be renewed yet.
func (g *Guard) isFresh() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.tenure.Renewed.IsZero() && elapsed(g.tenure.Renewed, g.clock.Now()) < g.timing.Renew
}

func (g *Guard) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	began := g.clock.Now()
	mine := record.HolderIdentity == g.Identity()
	if !mine {
		// With this write the elector releases the lease. Another manager may begin as soon as the API server has stored the
		// write. So this manager stops counting itself as the holder before the write, and begins no further write to a member.
		if holder := g.end(); holder != g.Identity() {
			// Another manager is the holder. The elector does not check that, and its write would remove the other
			// manager's name from the lease.
			return fmt.Errorf("not releasing the lease: %q holds it now", holder)
		}
	}
	if err := write(ctx, record); err != nil || !mine {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tenure.Renewed, g.holder, g.held = began, g.Identity(), true
	if g.takingBack {
		g.tenure.TakenBack, g.takingBack = g.clock.Now(), false
		log.FromContext(ctx).Info("this manager took over the lease of its predecessor, whose process has ended; it writes to members after a pause",
			"proof", g.proof.String(), "pause", g.timing.HoldOff.String())
	}
	return nil
}

// end makes this manager count itself as not holding the lease. It returns the holder that this manager last read or wrote.
func (g *Guard) end() (holder string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tenure = Tenure{}
	return g.holder
}

func (g *Guard) judge() Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.timing.Judge(g.tenure, g.clock.Now())
}

// Await returns nil when a write to a member may begin. After this manager took back the lease, Await waits until the pause
// (Timing.HoldOff) is over. If this manager may not write, Await returns an error that explains why.
func (g *Guard) Await(ctx context.Context) error {
	for {
		v := g.judge()
		if !v.Held || !v.MayBegin {
			return &NotLeadingError{age: v.Age, held: v.Held}
		}
		if v.Wait == 0 {
			return nil
		}
		timer := g.clock.NewTimer(v.Wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C():
		}
	}
}

// Left returns how much longer a write that is under way may wait for its answer. At 0 the caller cancels it.
func (g *Guard) Left() time.Duration { return g.judge().Left }

// NotLeadingError means that another manager may be the leader by now.
type NotLeadingError struct {
	age  time.Duration
	held bool
}

func (e *NotLeadingError) Error() string {
	if !e.held {
		return "this manager does not hold the lease, and writes nothing to members"
	}
	return fmt.Sprintf("the lease was last renewed %s ago, and another manager may hold it by now: this manager writes nothing to members", e.age.Round(time.Second))
}
