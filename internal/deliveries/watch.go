// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// Follow lists and watches the member's Deliveries until ctx ends. After an outage of the member, or when the watch
// brings no more events, Probed makes Follow list again at once. Without that, the reflector would first wait for its
// backoff.
func (x *Index) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		life, cancel := context.WithCancel(ctx)
		reflector := cache.NewReflectorWithOptions(&lister{index: x, conn: x.conn}, &decoded{}, &sink{index: x},
			cache.ReflectorOptions{Name: "deliveries of " + x.conn.Name()})
		reflector.WatchListPageSize = member.PageSize
		var running sync.WaitGroup
		running.Go(func() { reflector.RunWithContext(life) })
		select {
		case <-ctx.Done():
		case <-x.reconnect:
		}
		cancel()
		// Wait for the old reflector to end. If it still ran beside the new one, it could overwrite newer summaries with
		// older ones.
		running.Wait()
	}
}

// Probed gets the results of the last two probes of the member. It makes Follow list and watch again after an outage,
// and also when the member answers but the watch is dead.
func (x *Index) Probed(was, is member.ProbeResult) {
	if !is.Usable() || (was.Usable() || !was.Probed) && !x.liveness.isDead() {
		return
	}
	select {
	case x.reconnect <- struct{}{}:
	default:
	}
}

// sink is the store of the reflector. It puts the Deliveries into the index.
type sink struct{ index *Index }

var _ cache.ReflectorStore = &sink{}

// Add implements cache.ReflectorStore.
func (s *sink) Add(obj any) error { return s.Update(obj) }

// Resync implements cache.ReflectorStore.
func (s *sink) Resync() error { return nil }

// Update implements cache.ReflectorStore.
func (s *sink) Update(obj any) error {
	s.index.put(obj.(*decoded)) //nolint:forcetypeassert // the reflector checks the type
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *sink) Delete(obj any) error {
	s.index.remove(obj.(*decoded).Name) //nolint:forcetypeassert // the reflector checks the type
	return nil
}

// Replace implements cache.ReflectorStore. It removes every Delivery that is not in the list.
func (s *sink) Replace(objs []any, _ string) error {
	listed := make([]*decoded, 0, len(objs))
	for _, obj := range objs {
		listed = append(listed, obj.(*decoded)) //nolint:forcetypeassert // the lister puts only *decoded into a list
	}
	s.index.replace(listed)
	return nil
}
