// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// Store has an Index for each member to which this process is connected.
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

// Subscribe adds a listener, which gets all later changes on all members.
func (s *Store) Subscribe(l Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), l)
}

// OnNews makes the store call wake with the key of each wrapper whose Delivery has changed on a member.
func (s *Store) OnNews(wake func(Key)) { s.Subscribe(news(wake)) }

// news is a listener that calls a function with the key of each wrapper whose Delivery has changed.
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

// Open makes an empty index for a connection to a member. It replaces the index of an earlier connection to the same
// member. first is a listener for this member only, which gets each change before the subscribers; nil for none. The
// caller fills the index with the method Follow. If first is also a SharedIntents, it gets the member's shared intents.
func (s *Store) Open(conn *member.Conn, first Listener) *Index {
	shared, _ := first.(SharedIntents)
	x := newIndex(conn, s.clock, shared, func(call func(Listener)) {
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

// Close removes an index. If the store already has a newer index of the same member, the newer index stays.
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

// Of returns the index of a member; nil when the member is not connected.
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

// Record returns what the index of a member has about a wrapper; an empty Record when the member is not connected.
func (s *Store) Record(key Key, memberName string) Record {
	if x := s.Of(memberName); x != nil {
		return x.summaries.record(key.Delivery())
	}
	return Record{}
}

// Holders returns the connected members that have a Delivery of the wrapper, sorted.
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
