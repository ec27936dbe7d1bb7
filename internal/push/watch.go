// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// watch follows the member's Deliveries until ctx ends. A connection that came back is followed from
// a new list at once, rather than when the reflector's own backoff allows.
func (l *lane) watch(ctx context.Context) {
	for ctx.Err() == nil {
		life, cancel := context.WithCancel(ctx)
		reflector := cache.NewReflectorWithOptions(&deliveryLister{lane: l, conn: l.conn}, &sighting{}, &seenStore{lane: l},
			cache.ReflectorOptions{Name: "deliveries of " + l.conn.Name()})
		reflector.WatchListPageSize = member.PageSize
		var running sync.WaitGroup
		running.Go(func() { reflector.RunWithContext(life) })
		select {
		case <-ctx.Done():
		case <-l.reconnect:
		}
		cancel()
		// Two at once would tell of the member in turns, the old one of how it was.
		running.Wait()
	}
}

// seenStore takes what the reflector brings, and keeps of it what Seen keeps.
type seenStore struct{ lane *lane }

var _ cache.ReflectorStore = &seenStore{}

func (s *seenStore) Add(obj any) error { return s.Update(obj) }
func (s *seenStore) Resync() error     { return nil }

func (s *seenStore) Update(obj any) error {
	s.lane.observe(obj.(*sighting)) //nolint:forcetypeassert // the reflector checks the type
	return nil
}

func (s *seenStore) Delete(obj any) error {
	s.lane.vanish(obj.(*sighting).Name) //nolint:forcetypeassert // the reflector checks the type
	return nil
}

// Replace takes a whole list: what is not in it is gone.
func (s *seenStore) Replace(objs []any, _ string) error {
	listed := make(map[string]int64, len(objs)) // generations by name
	for _, obj := range objs {
		d := obj.(*sighting) //nolint:forcetypeassert // the lister makes nothing else of a list
		listed[d.Name] = d.seen.Generation
		s.lane.observe(d)
	}
	for _, name := range s.lane.names() {
		if _, there := listed[name]; !there {
			s.lane.vanish(name)
		}
	}
	s.lane.forgetUnseen(listed)
	s.lane.recount(listed)
	s.lane.listed()
	return nil
}

// observe takes in a Delivery as it is on the member now.
func (l *lane) observe(s *sighting) {
	is := s.seen
	key := KeyOf(is.Wrapper)
	l.mu.Lock()
	was := l.seen[s.Name]
	l.seen[s.Name] = is
	l.kept += is.weight() - was.weight()
	l.noteSeen(s)
	if len(is.drifts()) == 0 {
		delete(l.repaired, key)
	}
	l.mu.Unlock()
	if was == nil || was.Wrapper.UID != is.Wrapper.UID || KeyOf(was.Wrapper) != key {
		l.pusher.account(l, s.Name)
	}
	if was == nil && len(is.Secrets) > 0 || was != nil && !slices.Equal(was.Secrets, is.Secrets) {
		l.pusher.enlist(key, l.conn.Name())
	}
	if was == nil || !reflect.DeepEqual(was, is) {
		l.queue.Add(key)
		l.pusher.wake(key)
	}
}

// vanish takes in that a Delivery is gone.
func (l *lane) vanish(name string) {
	l.mu.Lock()
	was := l.seen[name]
	delete(l.seen, name)
	l.kept -= was.weight()
	delete(l.unseen, name)
	if was == nil {
		l.mu.Unlock()
		return
	}
	key := KeyOf(was.Wrapper)
	if out := l.outcomes[key]; out.uid == was.UID {
		// It went although the last pass left it there: that pass no longer says how things stand.
		delete(l.outcomes, key)
	}
	l.mu.Unlock()
	l.pusher.account(l, name)
	l.pusher.enlist(key, l.conn.Name())
	l.queue.Add(key)
	l.pusher.wake(key)
}

// recount takes back what passes found that a whole list contradicts: a member that was restored from a
// backup is older than they are. The list may also be older than the pass; the next one then finds
// nothing to do.
func (l *lane) recount(listed map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, out := range l.outcomes {
		if generation, there := listed[key.Delivery()]; out.uid != "" && (!there || generation < out.generation) {
			delete(l.outcomes, key)
			l.queue.Add(key)
		}
	}
}

func (l *lane) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.seen))
	for name := range l.seen {
		names = append(names, name)
	}
	return names
}

// listed opens the lane for pushes: from now on it is known what the member holds.
func (l *lane) listed() {
	l.mu.Lock()
	first, again := !l.synced, l.unlisted != ""
	l.synced, l.unlisted = true, ""
	l.mu.Unlock()
	switch {
	case first:
		l.pusher.opened(l)
		l.pusher.tellOrphans(l)
	case again: // of most pairs nothing else will tell
		l.pusher.wakeAllOf(l.conn.Name())
	}
}
