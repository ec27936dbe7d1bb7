// SPDX-License-Identifier: Apache-2.0

package boundedwatch

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// How long a watch waits before it lists again.
const (
	RetryFirst = time.Second
	retryMost  = 30 * time.Second
	// ForbiddenDoubted is how long refusals have to last before the watch reports them. An API server that has just
	// started refuses everything until it has read its roles.
	ForbiddenDoubted = 10 * time.Second
	// retryForgets is how long a watch has to run before its next failure starts at RetryFirst again.
	retryForgets = time.Minute
)

// ErrNotServed is the cause of errors about kinds that the member does not serve.
var ErrNotServed = errors.New("the member does not serve this kind")

// IsNotServed reports whether listing failed because the member does not serve the kind. A list answers 404 for no
// other reason.
func IsNotServed(err error) bool {
	return errors.Is(err, ErrNotServed) || apierrors.IsNotFound(err)
}

// refusals are the pauses after a reported refusal: 5 s, growing to 5 minutes. A role changes only when a person
// changes it, so later retries may be rare. But right after a join, or after a new CRD, the host is about to write the
// role.
func refusals() wait.Backoff {
	return wait.Backoff{Duration: 5 * time.Second, Factor: 1.5, Jitter: 0.2, Steps: 12, Cap: 5 * time.Minute}
}

// Watch keeps one list-and-watch alive through outages and passes its objects to the callbacks. It calls them one at a
// time. They must not block.
type Watch struct {
	Name string
	// Open returns the list-and-watch, and an empty object of the type that Trim returns, which the reflector expects.
	// Open may send requests to the member. Watch calls it before each new list.
	Open func(context.Context) (cache.ListerWatcher, runtime.Object, error)
	// Trim reduces an object on arrival to the part that is kept.
	Trim cache.TransformFunc
	// Put takes a new or changed object. Drop takes a deleted one. Replace takes the whole list at a resourceVersion.
	Put     func(obj any)
	Drop    func(obj any)
	Replace func(objs []any, resourceVersion string)
	// Lost takes the error of a failed list. Optional.
	Lost func(error)
	// Kick ends the wait before the next try when it receives a value. Optional.
	Kick chan struct{}
	// Awaited means that the owner uses Kick when the kind appears. So the watch does not poll for a kind that is not
	// served.
	Awaited bool
	// Essential means that the collector cannot work without this watch. A refusal then counts as an outage: the member
	// was unjoined, and may be joined again at any moment.
	Essential bool

	clock  clock.WithTicker
	budget *boundedread.Budget
	// refusals are the pauses while the member refuses.
	refusals wait.Backoff
}

// run blocks until ctx ends.
func (w *Watch) run(ctx context.Context) {
	log := klog.FromContext(ctx).WithValues("watch", w.Name)
	retry, forbidden := retries(), w.refusals
	var refusedSince time.Time
	for ctx.Err() == nil {
		began := w.clock.Now()
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if w.clock.Since(began) > retryForgets {
			retry, forbidden = retries(), w.refusals
		}
		if !apierrors.IsForbidden(err) {
			refusedSince = time.Time{}
		} else if refusedSince.IsZero() {
			refusedSince = w.clock.Now()
		}
		var pause time.Duration
		switch {
		case err == nil:
			pause = retry.Step()
		case IsNotServed(err) && w.Awaited:
			w.report(err)
			w.sleepUntilKicked(ctx)
			continue
		case apierrors.IsForbidden(err) && w.clock.Since(refusedSince) < ForbiddenDoubted:
			pause = RetryFirst
		case apierrors.IsForbidden(err) && !w.Essential:
			log.Info("The collector may not watch this; it asks again, after five minutes at most", "reason", err.Error())
			w.report(err)
			pause = forbidden.Step()
		default:
			log.V(2).Info("The member did not answer; asking again", "reason", err.Error())
			w.report(err)
			pause = retry.Step()
		}
		w.pause(ctx, pause)
	}
}

func (w *Watch) follow(ctx context.Context) error {
	source, example, err := w.Open(ctx)
	if err != nil {
		return err
	}
	log := klog.FromContext(ctx)
	in := boundedread.NewSource(cache.ToListerWatcherWithContext(source), w.Trim, w.budget)
	defer in.Close()
	r := cache.NewReflectorWithOptions(in, example, store{w}, cache.ReflectorOptions{
		Name: w.Name, Logger: &log, Clock: w.clock,
	})
	return r.ListAndWatchWithContext(ctx)
}

func (w *Watch) report(err error) {
	if w.Lost != nil {
		w.Lost(err)
	}
}

func retries() wait.Backoff {
	return wait.Backoff{Duration: RetryFirst, Factor: 2, Jitter: 0.5, Steps: 10, Cap: retryMost}
}

func (w *Watch) pause(ctx context.Context, d time.Duration) {
	timer := w.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-w.Kick:
	}
}

func (w *Watch) sleepUntilKicked(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-w.Kick:
	}
}

// store passes the reflector's objects to the callbacks. They are already trimmed.
type store struct{ watch *Watch }

var _ cache.ReflectorStore = store{}

// Add implements cache.ReflectorStore.
func (s store) Add(obj any) error {
	s.watch.Put(obj)
	return nil
}

// Update implements cache.ReflectorStore.
func (s store) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s store) Delete(obj any) error {
	s.watch.Drop(obj)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s store) Replace(objs []any, resourceVersion string) error {
	s.watch.Replace(objs, resourceVersion)
	return nil
}

// Resync implements cache.ReflectorStore.
func (s store) Resync() error { return nil }
