// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// How long a feed waits before it lists again.
const (
	retryFirst = time.Second
	retryMost  = 30 * time.Second
	// An API server that has just come up refuses everything until it has read its roles: a refusal is
	// believed, and told, when it has lasted for this long.
	forbiddenDoubted = 10 * time.Second
	// A feed that has run for this long was well: its next failure starts at retryFirst again.
	retryForgets = time.Minute
)

// refusals are the pauses after a refusal that is believed, 5 s to 5 minutes. A role changes when a person changes it,
// so there is no hurry in the long run; but right after a join or the arrival of a CRD the host is about to write it.
func refusals() wait.Backoff {
	return wait.Backoff{Duration: 5 * time.Second, Factor: 1.5, Jitter: 0.2, Steps: 12, Cap: 5 * time.Minute}
}

// feed keeps one list-and-watch alive through outages and hands what arrives to its callbacks, which
// are called one at a time and must not block.
type feed struct {
	name string
	// open says what to list, and what trim makes of it; it may ask the member, and is called before each new list.
	open func(context.Context) (cache.ListerWatcher, runtime.Object, error)
	// trim cuts an object down before it is held anywhere.
	trim cache.TransformFunc
	// budget is the memory for everything that the collector holds of the member.
	budget *boundedread.Budget
	// put takes an object that was made or changed, drop one that is gone, all the whole list as it
	// was at a resourceVersion.
	put  func(obj any)
	drop func(obj any)
	all  func(objs []any, resourceVersion string)
	// lost takes the reason why nothing could be listed. Optional.
	lost func(error)
	// kick, when something arrives, ends the wait before the next try.
	kick chan struct{}
	// awaited is whether somebody sees the kind appear, and kicks: there is nothing to poll for then.
	awaited bool
	// essential is whether there is nothing to collect without it. A refusal is then an outage: the
	// member was unjoined, and may be joined again at any moment.
	essential bool

	clock clock.WithTicker
	// refusals are the pauses while the member refuses.
	refusals wait.Backoff
}

// run blocks until ctx ends.
func (f *feed) run(ctx context.Context) {
	log := klog.FromContext(ctx).WithValues("feed", f.name)
	retry, forbidden := retries(), f.refusals
	var refusedSince time.Time
	for ctx.Err() == nil {
		began := f.clock.Now()
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.clock.Since(began) > retryForgets {
			retry, forbidden = retries(), f.refusals
		}
		if !apierrors.IsForbidden(err) {
			refusedSince = time.Time{}
		} else if refusedSince.IsZero() {
			refusedSince = f.clock.Now()
		}
		var pause time.Duration
		switch {
		case err == nil:
			pause = retry.Step()
		case isNotServed(err) && f.awaited:
			f.report(err)
			f.sleepUntilKicked(ctx)
			continue
		case apierrors.IsForbidden(err) && f.clock.Since(refusedSince) < forbiddenDoubted:
			pause = retryFirst
		case apierrors.IsForbidden(err) && !f.essential:
			log.Info("The collector may not watch this; it asks again, after five minutes at most", "reason", err.Error())
			f.report(err)
			pause = forbidden.Step()
		default:
			log.V(2).Info("The member did not answer; asking again", "reason", err.Error())
			f.report(err)
			pause = retry.Step()
		}
		f.pause(ctx, pause)
	}
}

func (f *feed) follow(ctx context.Context) error {
	source, example, err := f.open(ctx)
	if err != nil {
		return err
	}
	log := klog.FromContext(ctx)
	in := boundedread.NewSource(cache.ToListerWatcherWithContext(source), f.trim, f.budget)
	defer in.Close()
	r := cache.NewReflectorWithOptions(in, example, (*feedStore)(f), cache.ReflectorOptions{
		Name: f.name, Logger: &log, Clock: f.clock,
	})
	return r.ListAndWatchWithContext(ctx)
}

func (f *feed) report(err error) {
	if f.lost != nil {
		f.lost(err)
	}
}

func retries() wait.Backoff {
	return wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: 0.5, Steps: 10, Cap: retryMost}
}

func (f *feed) pause(ctx context.Context, d time.Duration) {
	timer := f.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-f.kick:
	}
}

func (f *feed) sleepUntilKicked(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-f.kick:
	}
}

// feedStore is a feed as the reflector sees it. What comes is cut down already.
type feedStore feed

var _ cache.ReflectorStore = (*feedStore)(nil)

// Add implements cache.ReflectorStore.
func (s *feedStore) Add(obj any) error {
	s.put(obj)
	return nil
}

// Update implements cache.ReflectorStore.
func (s *feedStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *feedStore) Delete(obj any) error {
	s.drop(obj)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *feedStore) Replace(objs []any, resourceVersion string) error {
	s.all(objs, resourceVersion)
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *feedStore) Resync() error { return nil }
