// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// Store holds an Index for each member that this process is connected to.
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

// Subscribe adds a listener for all members. It receives the changes from now on.
func (s *Store) Subscribe(l Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), l)
}

// OnNews calls wake from now on with each wrapper whose Delivery changes on a member.
func (s *Store) OnNews(wake func(Key)) { s.Subscribe(news(wake)) }

// news is a Listener that only passes on the wrapper of each change.
type news func(Key)

// Changed implements Listener.
func (n news) Changed(_ *Index, c Change) {
	switch {
	case !c.IsNews:
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

// Open makes the index of a member. It replaces the index of an earlier connection. The listener first gets each change before
// all subscribers; it may be nil. The index is empty until Follow runs.
func (s *Store) Open(conn *member.Conn, first Listener) *Index {
	x := newIndex(conn, s.clock, func(call func(Listener)) {
		if first != nil {
			call(first)
		}
		for _, l := range s.subscribers() {
			call(l)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes[conn.Name()] = x
	return x
}

// Close removes an index, unless a newer one has replaced it.
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

// Record is what a member has on record of a wrapper. It is empty for a member without a connection.
func (s *Store) Record(key Key, memberName string) Record {
	if x := s.Of(memberName); x != nil {
		return x.record(key)
	}
	return Record{}
}

// Holders are the members that are known to have a Delivery of the wrapper, sorted.
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
