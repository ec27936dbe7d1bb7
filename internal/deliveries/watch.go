// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// Follow follows the member's Deliveries until ctx ends. A connection that came back is followed from
// a new list at once, rather than when the reflector's own backoff allows.
func (x *Index) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		life, cancel := context.WithCancel(ctx)
		reflector := cache.NewReflectorWithOptions(&lister{index: x, conn: x.conn}, &decoded{}, &store{index: x},
			cache.ReflectorOptions{Name: "deliveries of " + x.conn.Name()})
		reflector.WatchListPageSize = member.PageSize
		var running sync.WaitGroup
		running.Go(func() { reflector.RunWithContext(life) })
		select {
		case <-ctx.Done():
		case <-x.reconnect:
		}
		cancel()
		// Two at once would tell of the member in turns, the old one of how it was.
		running.Wait()
	}
}

// Probed takes in how the last two probes of the member went. The watch begins anew after an outage, and where it brings
// nothing although the member answers.
func (x *Index) Probed(was, is member.ProbeResult) {
	if !is.Usable() || !(!was.Usable() && was.Probed || x.liveness.isDead()) {
		return
	}
	select {
	case x.reconnect <- struct{}{}:
	default:
	}
}

// store takes what the reflector brings into the index.
type store struct{ index *Index }

var _ cache.ReflectorStore = &store{}

func (s *store) Add(obj any) error { return s.Update(obj) }
func (s *store) Resync() error     { return nil }

func (s *store) Update(obj any) error {
	e := obj.(*decoded) //nolint:forcetypeassert // the reflector checks the type
	s.index.put(e.Name, e.summary)
	return nil
}

func (s *store) Delete(obj any) error {
	s.index.remove(obj.(*decoded).Name) //nolint:forcetypeassert // the reflector checks the type
	return nil
}

// Replace takes a whole list: what is not in it is gone.
func (s *store) Replace(objs []any, _ string) error {
	listed := make([]*decoded, 0, len(objs))
	for _, obj := range objs {
		listed = append(listed, obj.(*decoded)) //nolint:forcetypeassert // the lister makes nothing else of a list
	}
	s.index.replace(listed)
	return nil
}
