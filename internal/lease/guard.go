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

// Guard is the lease as the leader elector sees it. It knows until when this manager is surely the leader. A manager
// that was frozen (a paused machine, SIGSTOP) continues in the middle of a push, long after another manager has taken
// over. Its leader elector need not be the first goroutine to run again.
type Guard struct {
	resourcelock.Interface
	clock  clock.Clock
	timing Timing
	proof  Proof

	mu     sync.Mutex
	tenure Tenure
	// holder is the present holder of the lease, as far as this manager knows.
	holder string
	// held is true once the API server has accepted this manager as the holder. From then on the manager takes no lease
	// back: an earlier holder with the same proof could be a living process.
	held bool
	// takingBack is set by a read that shows a predecessor which is proven dead. It stays set until the API server
	// accepts the write that takes the lease back, because the answer to an earlier try can be lost.
	takingBack bool
}

// NewGuard makes the lease that options describe. It sets the fields of options that the elector needs for the lease.
func NewGuard(config *rest.Config, options *ctrl.Options, timing Timing, proof Proof, clk clock.Clock) (*Guard, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("making the lease: %w", err)
	}
	as := resourcelock.ResourceLockConfig{Identity: proof.identity(host, string(uuid.NewUUID()))}
	lease, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, options.LeaderElectionNamespace, options.LeaderElectionID,
		as, rest.CopyConfig(config), 2*timing.Request) // the timeout of a request is half of this
	if err != nil {
		return nil, fmt.Errorf("making the lease: %w", err)
	}
	g := &Guard{Interface: lease, clock: clk, timing: timing, proof: proof}
	options.LeaderElectionResourceLockInterface = g
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &timing.Duration, &timing.GiveUp, &timing.Retry
	return g, nil
}

// Get implements resourcelock.Interface. When it reads another holder's name, this manager writes nothing to members
// until it holds the lease again. If that holder is a predecessor that is proven dead, Get shows the lease as free, so
// the elector takes it without waiting. The elector's write carries the resourceVersion of this read, so it fails if another
// manager was faster.
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

// Update implements resourcelock.Interface. The elector calls it at the interval Retry. Update sends a renewal only
// when one is due.
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
		// The elector gives the lease back with this write. Another manager may begin as soon as the API server has it.
		// So this manager ends its tenure first, and then begins no further write to a member.
		if holder := g.end(); holder != g.Identity() {
			// The elector would clear the name of another holder: it ignores the read before this write.
			return fmt.Errorf("not giving the lease back: %q holds it by now", holder)
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
		log.FromContext(ctx).Info("took back the lease of this manager's predecessor, which is dead; the manager writes to members after a pause",
			"proof", g.proof.String(), "pause", g.timing.HoldOff.String())
	}
	return nil
}

// end ends the tenure: from now on this manager does not count as the holder. It returns the holder of the lease.
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

// Await returns when a write to a member may begin. It waits only for the end of the pause after the manager took the
// lease back. Its error explains why this manager may not write.
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

// NotLeadingError reports that another manager may be the leader by now.
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
