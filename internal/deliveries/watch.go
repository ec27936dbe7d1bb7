// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"context"
	"reflect"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// follower lists and watches the Deliveries of one member, and puts them into the sink.
type follower struct {
	conn     *member.Conn
	liveness *liveness
	sink     *sink
	// reconnect gets a signal when follow has to list and watch again.
	reconnect chan struct{}
}

// follow implements Index.Follow.
func (f *follower) follow(ctx context.Context) {
	for ctx.Err() == nil {
		life, cancel := context.WithCancel(ctx)
		reflector := cache.NewReflectorWithOptions(&lister{conn: f.conn, liveness: f.liveness, sink: f.sink}, &decoded{}, f.sink,
			cache.ReflectorOptions{Name: "deliveries of " + f.conn.Name()})
		reflector.WatchListPageSize = member.PageSize
		var running sync.WaitGroup
		running.Go(func() { reflector.RunWithContext(life) })
		select {
		case <-ctx.Done():
		case <-f.reconnect:
		}
		cancel()
		// Wait for the old reflector to end. If it still ran beside the new one, it could overwrite newer summaries with
		// older ones.
		running.Wait()
	}
}

// probed implements Index.Probed.
func (f *follower) probed(was, is member.ProbeResult) {
	if !is.Usable() || (was.Usable() || !was.Probed) && !f.liveness.isDead() {
		return
	}
	select {
	case f.reconnect <- struct{}{}:
	default:
	}
}

// sink is the store of the reflector. It stores the summaries, tells the liveness which Deliveries the watch has
// brought, and calls the listeners.
type sink struct {
	// index is the index that the listeners get with each change.
	index     *Index
	summaries *summaries
	liveness  *liveness
	// notify makes a call to each listener. Its caller must not hold the lock of the summaries.
	notify func(func(Listener))
	// shared gets the member's shared intents; nil if nobody does.
	shared SharedIntents
}

var _ cache.ReflectorStore = &sink{}

// Add implements cache.ReflectorStore.
func (s *sink) Add(obj any) error { return s.Update(obj) }

// Resync implements cache.ReflectorStore.
func (s *sink) Resync() error { return nil }

// Update implements cache.ReflectorStore.
func (s *sink) Update(obj any) error {
	s.put(obj.(*decoded)) //nolint:forcetypeassert // the reflector checks the type
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *sink) Delete(obj any) error {
	e := obj.(*decoded) //nolint:forcetypeassert // the reflector checks the type
	if e.Name == marks.SharedIntents && s.shared != nil {
		s.shared.Seen(v1alpha1.DeliveryVersion{UID: e.summary.UID})
	}
	s.remove(e.Name)
	return nil
}

// Replace implements cache.ReflectorStore. It removes every Delivery that is not in the list.
func (s *sink) Replace(objs []any, _ string) error {
	listed := make([]*decoded, 0, len(objs))
	for _, obj := range objs {
		listed = append(listed, obj.(*decoded)) //nolint:forcetypeassert // the lister puts only *decoded into a list
	}
	s.replace(listed)
	return nil
}

// put stores the present summary of a Delivery, and passes its evidence to the listeners.
func (s *sink) put(e *decoded) {
	name, is := e.Name, e.summary
	if name == marks.SharedIntents {
		if s.shared != nil {
			s.shared.Seen(v1alpha1.DeliveryVersion{UID: is.UID, Generation: is.Generation})
		}
		return
	}
	was := s.summaries.put(name, is)
	s.liveness.brought(name, is)
	change := Change{Name: name, Was: was, Is: is, Evidence: e.evidence}
	change.IsNews = !reflect.DeepEqual(was, is) // compared here once, so that the listeners need not
	s.notify(func(l Listener) { l.Changed(s.index, change) })
}

// remove removes a Delivery that is gone.
func (s *sink) remove(name string) {
	was := s.summaries.remove(name)
	s.liveness.forget(name)
	if was != nil {
		s.notify(func(l Listener) { l.Changed(s.index, Change{Name: name, Was: was, IsNews: true}) })
	}
}

// replace stores a complete list, and removes every Delivery that is not in it.
func (s *sink) replace(listed []*decoded) {
	generations := make(map[string]int64, len(listed))
	for _, e := range listed {
		generations[e.Name] = e.summary.Generation
		s.put(e)
	}
	for _, name := range s.summaries.names() {
		if _, there := generations[name]; !there {
			s.remove(name)
		}
	}
	if _, there := generations[marks.SharedIntents]; !there && s.shared != nil {
		s.shared.Seen(v1alpha1.DeliveryVersion{})
	}
	s.liveness.keepOnly(generations)
	s.notify(func(l Listener) { l.Listed(s.index, generations) })
	if first, again := s.summaries.setListed(); first || again {
		s.notify(func(l Listener) { l.Readable(s.index, first) })
	}
}

// noteUnreadable records why the host cannot read the Deliveries, and calls the listeners if the reason is new.
func (s *sink) noteUnreadable(why string) {
	if s.summaries.setUnreadable(why) {
		s.notify(func(l Listener) { l.Unreadable(s.index) })
	}
}
