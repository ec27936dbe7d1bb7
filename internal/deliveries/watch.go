// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// Follow lists and watches the member's Deliveries until ctx ends. When the member comes back after an outage, Follow lists again
// immediately. The reflector alone would wait for its backoff.
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
		// Two reflectors at the same time would overwrite each other's Deliveries, the old reflector with outdated ones.
		running.Wait()
	}
}

// Probed takes the results of the last two probes of the member. The watch begins anew after an outage, and when it is dead
// although the member answers.
func (x *Index) Probed(was, is member.ProbeResult) {
	if !is.Usable() || (was.Usable() || !was.Probed) && !x.liveness.isDead() {
		return
	}
	select {
	case x.reconnect <- struct{}{}:
	default:
	}
}

// sink puts into the index what the reflector brings.
type sink struct{ index *Index }

var _ cache.ReflectorStore = &sink{}

// Add implements cache.ReflectorStore.
func (s *sink) Add(obj any) error { return s.Update(obj) }

// Resync implements cache.ReflectorStore.
func (s *sink) Resync() error { return nil }

// Update implements cache.ReflectorStore.
func (s *sink) Update(obj any) error {
	e := obj.(*decoded) //nolint:forcetypeassert // the reflector checks the type
	s.index.put(e.Name, e.summary)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *sink) Delete(obj any) error {
	s.index.remove(obj.(*decoded).Name) //nolint:forcetypeassert // the reflector checks the type
	return nil
}

// Replace implements cache.ReflectorStore. A Delivery that the list does not have is gone.
func (s *sink) Replace(objs []any, _ string) error {
	listed := make([]*decoded, 0, len(objs))
	for _, obj := range objs {
		listed = append(listed, obj.(*decoded)) //nolint:forcetypeassert // the lister makes nothing else of a list
	}
	s.index.replace(listed)
	return nil
}
