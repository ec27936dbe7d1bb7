// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// Store is what the members have on record that this process is connected to: an Index for each.
type Store struct {
	clock clock.PassiveClock

	mu        sync.RWMutex
	indexes   map[string]*Index
	listeners []Listener
}

// NewStore makes a store without members.
func NewStore(clk clock.PassiveClock) *Store {
	return &Store{clock: clk, indexes: make(map[string]*Index)}
}

// Subscribe has a listener told of all members, from now on.
func (s *Store) Subscribe(l Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), l)
}

// OnNews has told called for each wrapper of whose Delivery a member has another state, from now on.
func (s *Store) OnNews(told func(Key)) { s.Subscribe(news(told)) }

// news passes on of what a Listener hears which wrapper it is about.
type news func(Key)

// Changed implements Listener.
func (n news) Changed(_ *Index, c Change) {
	switch {
	case !c.IsNews():
	case c.Is != nil:
		n(KeyOf(c.Is.Wrapper))
	default:
		n(KeyOf(c.Was.Wrapper))
	}
}

// Listed implements Listener.
func (news) Listed(*Index, map[string]int64) {}

// Readable implements Listener.
func (news) Readable(*Index, bool) {}

// Unreadable implements Listener.
func (news) Unreadable(*Index) {}

// Open makes the index of a member, in place of that of an earlier connection. first is told of this member before all
// subscribers are; it may be nil. Nothing is known until Follow runs.
func (s *Store) Open(conn *member.Conn, first Listener) *Index {
	x := newIndex(conn, s.clock, func(tell func(Listener)) {
		if first != nil {
			tell(first)
		}
		for _, l := range s.subscribers() {
			tell(l)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes[conn.Name()] = x
	return x
}

// Close lets go of an index, unless the member has another one already.
func (s *Store) Close(x *Index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexes[x.conn.Name()] == x {
		delete(s.indexes, x.conn.Name())
	}
}

func (s *Store) subscribers() []Listener {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listeners
}

// Of is the index of a member, nil when there is none.
func (s *Store) Of(memberName string) *Index {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.indexes[memberName]
}

func (s *Store) all() []*Index {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.indexes))
}

// Record is what a member has on record of a wrapper.
func (s *Store) Record(key Key, memberName string) Record {
	if x := s.Of(memberName); x != nil {
		return x.record(key)
	}
	return Record{}
}

// Holders are the members known to hold a Delivery of a wrapper, sorted.
func (s *Store) Holders(key Key) []string {
	var names []string
	for _, x := range s.all() {
		if x.Get(key) != nil {
			names = append(names, x.conn.Name())
		}
	}
	slices.Sort(names)
	return names
}
