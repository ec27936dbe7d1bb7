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

const (
	// RetryFirst is the shortest pause before a watch lists again after a failure.
	RetryFirst = time.Second
	// retryMost is the longest pause before a watch lists again after a failure. After a reported refusal (403) the pauses
	// are longer: see refusals.
	retryMost = 30 * time.Second
	// ForbiddenDoubted is the time for which the member must keep refusing a watch (403) before the watch reports the refusal. An API
	// server that starts refuses every request until it has read its roles.
	ForbiddenDoubted = 10 * time.Second
	// retryForgets is how long a watch has to run without a failure before the pauses start at RetryFirst again.
	retryForgets = time.Minute
)

// ErrNotServed means that the member does not serve a kind.
var ErrNotServed = errors.New("the member does not serve this kind")

// IsNotServed reports whether a list failed because the member does not serve the kind. A list that fails with 404
// counts too: the API server answers a list with 404 for no other reason.
func IsNotServed(err error) bool {
	return errors.Is(err, ErrNotServed) || apierrors.IsNotFound(err)
}

// refusals returns the pauses of a watch after a reported refusal (403): 5 seconds at first, 5 minutes at most. The first pauses are short
// because, right after a join or a new CRD, the host is about to write the role that the watch needs. The later pauses are long because the
// role then changes only when a person changes it.
func refusals() wait.Backoff {
	return wait.Backoff{Duration: 5 * time.Second, Factor: 1.5, Jitter: 0.2, Steps: 12, Cap: 5 * time.Minute}
}

// Watch keeps one list-and-watch running and passes its objects to the callbacks Put, Drop, Replace and Lost. It calls
// one callback at a time. A callback must not block.
type Watch struct {
	Name string
	// Open returns the list-and-watch, and an empty object that the reflector needs as an example. The object has the type that Trim
	// returns. Watch calls Open before each list. Open may send requests to the member.
	Open func(context.Context) (cache.ListerWatcher, runtime.Object, error)
	// Trim reduces each object that arrives to the part that the callbacks need, so that the rest takes no memory.
	Trim cache.TransformFunc
	// Put gets each new or changed object.
	Put func(obj any)
	// Drop gets each deleted object.
	Drop func(obj any)
	// Replace gets each complete list, and its resourceVersion.
	Replace func(objs []any, resourceVersion string)
	// Lost gets the error of each failed list or watch. It gets a refusal (403) only after the member has refused the
	// watch for ForbiddenDoubted. Lost may be nil.
	Lost func(error)
	// Kick ends the pause before the next try when a value arrives on it. If it is nil, the Set makes the channel.
	Kick chan struct{}
	// Awaited is true if the owner kicks the watch when its kind appears on the member. While the member does not serve
	// the kind, the watch then sends no requests.
	Awaited bool
	// Essential is true if the collector cannot work without this watch. After a refusal (403) such a watch makes only the
	// short pauses of an outage: the member was probably unjoined, and can be joined again at any moment.
	Essential bool

	clock  clock.WithTicker
	budget *boundedread.Budget
	// refusals are the pauses after the watch has reported a refusal (403).
	refusals wait.Backoff
}

// run keeps the watch running until ctx ends.
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
			log.Info("The member does not allow the collector to watch a kind; the collector tries again after five minutes at most", "reason", err.Error())
			w.report(err)
			pause = forbidden.Step()
		default:
			log.V(2).Info("Listing or watching a kind on the member failed; the collector tries again", "reason", err.Error())
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

// store passes the objects of the reflector to the callbacks of the watch. Trim has already reduced them.
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
