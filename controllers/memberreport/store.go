// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/memberreport"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// DefaultMemory is how many bytes of memory the evidence of all members may take.
const DefaultMemory = 256 << 20

// logEvery is the shortest time between two log messages that say that the store has no memory for more evidence.
const logEvery = time.Minute

// Store has the evidence of all connected members, in memory.
type Store struct {
	deliveries *deliveries.Store
	clock      clock.PassiveClock
	log        logr.Logger
	// wake gets the key of a wrapper whose reports may have changed. It must not block.
	wake func(deliveries.Key)

	mu         sync.Mutex
	placements placements
	evidence   evidence
	// refused counts the samples and members for which there was no memory since the last log message. logged is the time of that
	// message.
	refused int
	logged  time.Time
}

// NewStore makes a store that follows the members' Deliveries. limit is how many bytes of memory the evidence may take.
func NewStore(store *deliveries.Store, clk clock.PassiveClock, limit int, log logr.Logger, wake func(deliveries.Key)) *Store {
	s := &Store{deliveries: store, clock: clk, log: log, wake: wake,
		placements: placements{wrappers: make(map[deliveries.Key]v1alpha1.Wrapper)}, evidence: newEvidence(limit, wake)}
	store.Subscribe(s)
	return s
}

var _ deliveries.Listener = &Store{}

// Changed implements deliveries.Listener.
func (s *Store) Changed(x *deliveries.Index, c deliveries.Change) {
	if s.deliveries.Of(x.Member()) != x {
		return // an event of an earlier connection may be older than what the store has
	}
	// A hostile member can send messages for which shownIn takes long. So shownIn runs without the lock, and no other member waits for it.
	is, shown := shownIn(x.Member(), &c)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.evidence.member(x.Member())
	if c.Evidence.Omitted {
		m.omitted.Insert(c.Name)
		return
	}
	m.noteRead(c.Name)
	if len(shown) > 0 && !s.placements.counts(is, x.Member()) {
		is, shown = wrapperID{}, nil
	}
	if was, shows := m.shown[c.Name]; shows && was != is {
		s.evidence.leave(x.Member(), c.Name)
	}
	if len(shown) > 0 {
		s.logRefused(s.evidence.show(x.Member(), c.Name, is, shown, s.clock.Now()))
	}
}

// shownIn returns what a member shows in its Delivery, and the wrapper of that Delivery.
func shownIn(member string, c *deliveries.Change) (wrapperID, []rules.Shown) {
	if c.Is == nil || c.Is.Status == nil || len(c.Evidence.Objects) == 0 {
		return wrapperID{}, nil
	}
	id := wrapperID{Key: deliveries.KeyOf(c.Is.Wrapper), uid: c.Is.Wrapper.UID}
	shown := rules.Of(&c.Is.Wrapper, member, c.Is.Status.Objects, c.Evidence.Objects)
	if len(shown) == 0 || id.Delivery() != c.Name {
		return wrapperID{}, nil
	}
	return id, shown
}

// Listed implements deliveries.Listener. It drops the member's evidence from Deliveries that are not in the list.
func (s *Store) Listed(x *deliveries.Index, generations map[string]int64) {
	if s.deliveries.Of(x.Member()) != x {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.evidence.member(x.Member())
	m.noteList(generations)
	for name := range m.shown {
		if _, listed := generations[name]; !listed {
			s.evidence.leave(x.Member(), name)
		}
	}
}

// Readable implements deliveries.Listener.
func (*Store) Readable(*deliveries.Index, bool) {}

// Unreadable implements deliveries.Listener. The member's last evidence stays.
func (*Store) Unreadable(*deliveries.Index) {}

// Forget records that a MemberCluster was deleted.
func (s *Store) Forget(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evidence.forget(member)
}

// addWrapper records the present state of a wrapper. It drops the evidence of members that the wrapper has left.
func (s *Store) addWrapper(w v1alpha1.Wrapper) {
	key := deliveries.KeyOf(v1alpha1.Identity(w))
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.placements.wrappers[key]
	s.placements.wrappers[key] = w
	if was != nil && was.GetUID() != w.GetUID() {
		s.evidence.close(wrapperID{key, was.GetUID()})
	}
	if was == nil || !isPlacedAs(was, w) {
		s.prune(wrapperID{key, w.GetUID()})
	}
	if was != nil && !isDecided(was) && isDecided(w) {
		s.wake(key)
	}
}

// removeWrapper records that the wrapper with this uid is gone. A newer wrapper of the same name stays.
func (s *Store) removeWrapper(key deliveries.Key, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.placements.wrappers[key]; was != nil && was.GetUID() == uid {
		delete(s.placements.wrappers, key)
	}
	s.evidence.close(wrapperID{key, uid})
	s.wake(key)
}

// wrappersListed records that every wrapper of the host was added. It drops the evidence about wrappers that the host does not have.
func (s *Store) wrappersListed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placements.complete = true
	for id := range s.evidence.sets {
		s.prune(id)
		s.wake(id.Key)
	}
}

// prune removes the members whose evidence about a wrapper does not count. The caller holds the lock.
func (s *Store) prune(id wrapperID) {
	if s.evidence.sets[id] == nil {
		return // so it is for most wrappers
	}
	if members, decided := s.placements.countingMembers(id); decided {
		s.evidence.keepOnly(id, members)
	}
}

// desired is what the store knows about the reports of one wrapper.
type desired struct {
	// wrapper is nil if the host has no such wrapper.
	wrapper v1alpha1.Wrapper
	reports []rules.Report
}

// desired returns the reports that a wrapper has to have. ok is false until all wrappers of the host are known and the manager has
// decided on the placement of this one.
func (s *Store) desired(key deliveries.Key) (d desired, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.wrapper = s.placements.wrappers[key]; d.wrapper == nil {
		return d, s.placements.complete
	}
	d.reports = s.evidence.reports(wrapperID{key, d.wrapper.GetUID()})
	return d, s.placements.complete && isDecided(d.wrapper)
}

// restore adds a report that an earlier process of the manager wrote. It keeps only those members of the report whose evidence this
// process does not know yet, and on which the wrapper is placed.
func (s *Store) restore(key deliveries.Key, uid types.UID, report rules.Key, status *v1alpha1.MemberReportStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := wrapperID{key, uid}
	s.evidence.restore(id, report, status, func(member string) bool { return s.placements.counts(id, member) })
}

// memoryUsed returns how many bytes of memory, by estimate, the evidence of each member takes, and how many all of it may take.
func (s *Store) memoryUsed() (byMember map[string]int, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byMember = make(map[string]int, len(s.evidence.members))
	for name := range s.evidence.members {
		byMember[name] = 0
	}
	maps.Copy(byMember, s.evidence.memory.byMember) // a member that has left may be only here
	return byMember, s.evidence.memory.limit
}

// logRefused logs that there was no memory for evidence, at most once a minute. The caller holds the lock.
func (s *Store) logRefused(more int) {
	s.refused += more
	now := s.clock.Now()
	if more == 0 || now.Sub(s.logged) < logEvery {
		return
	}
	memory := &s.evidence.memory
	s.log.Info("there is no memory for more evidence of members, so some MemberReports are missing or out of date; give the manager more with --member-reports-memory",
		"refused", s.refused, "usedBytes", memory.used, "limitBytes", memory.limit, "limitBytesPerMember", memory.limit/share)
	s.refused, s.logged = 0, now
}
