// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/memberreport"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// DefaultMemory is how many bytes of memory the evidence of all members may take.
const DefaultMemory = 256 << 20

// logEvery is how often the store logs at most that it has no memory for more evidence.
const logEvery = time.Minute

// Store has the evidence of all connected members, in memory.
type Store struct {
	deliveries *deliveries.Store
	clock      clock.PassiveClock
	log        logr.Logger
	// wake is called with the key of a wrapper whose reports may be others than before. It must not block.
	wake func(deliveries.Key)

	mu     sync.Mutex
	memory memory
	// wrappers are the wrappers of the host, as the cache has them. Nothing may change them.
	wrappers map[deliveries.Key]v1alpha1.Wrapper
	// complete is true after every wrapper of the host was added once.
	complete bool
	sets     map[wrapperID]*rules.Set
	members  map[string]*memberRecord
	// refused counts the samples for which there was no memory since logged, which is the time of the last line in the log.
	refused int
	logged  time.Time
}

// wrapperID identifies a wrapper. Two wrappers may have the same name one after the other.
type wrapperID struct {
	deliveries.Key
	uid types.UID
}

// memberRecord is what the store has about one member.
type memberRecord struct {
	// read is true after this process has read a complete list of the member's Deliveries.
	read bool
	// changed has the Deliveries that this process has read before it has read a complete list; nil after that.
	changed sets.Set[string]
	// omitted has the names of the Deliveries of which a list had no room for the evidence.
	omitted sets.Set[string]
	// shown has the wrappers of which the member shows something, by the name of the Delivery.
	shown map[string]wrapperID
}

// NewStore makes a store that follows the members' Deliveries. limit is how many bytes of memory the evidence may take.
func NewStore(store *deliveries.Store, clk clock.PassiveClock, limit int, log logr.Logger, wake func(deliveries.Key)) *Store {
	s := &Store{deliveries: store, clock: clk, log: log, wake: wake, memory: memory{limit: limit, byMember: make(map[string]int)},
		wrappers: make(map[deliveries.Key]v1alpha1.Wrapper), sets: make(map[wrapperID]*rules.Set), members: make(map[string]*memberRecord)}
	store.Subscribe(s)
	return s
}

var _ deliveries.Listener = &Store{}

// Changed implements deliveries.Listener.
func (s *Store) Changed(x *deliveries.Index, c deliveries.Change) {
	if s.deliveries.Of(x.Member()) != x {
		return // an event of an earlier connection may be older than what the store has
	}
	// This takes time for messages of a hostile member, so no other member may wait for it.
	is, shown := shownIn(x.Member(), &c)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.member(x.Member())
	if c.Evidence.Omitted {
		m.omitted.Insert(c.Name)
		return
	}
	m.omitted.Delete(c.Name)
	if !m.read {
		m.changed.Insert(c.Name)
	}
	if len(shown) > 0 && !s.counts(is, x.Member()) {
		is, shown = wrapperID{}, nil
	}
	if was, shows := m.shown[c.Name]; shows && was != is {
		s.leave(x.Member(), c.Name)
	}
	if len(shown) > 0 {
		s.show(x.Member(), c.Name, is, shown)
	}
}

// shownIn returns what a member shows by its Delivery, and the wrapper.
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

// counts reports whether what a member shows of a wrapper counts. Before all wrappers of the host are known, it may.
func (s *Store) counts(id wrapperID, member string) bool {
	w := s.wrappers[id.Key]
	if w == nil {
		return !s.complete
	}
	return w.GetUID() == id.uid && isPlaced(w, member)
}

// isDecided reports whether the manager has decided on the placement of a wrapper.
func isDecided(w v1alpha1.Wrapper) bool { return w.WrapperStatus().Placement.ObservedGeneration != 0 }

// isPlaced reports whether a wrapper is placed on a member, or is leaving it. It returns true before the manager has decided that.
func isPlaced(w v1alpha1.Wrapper, member string) bool {
	p := &w.WrapperStatus().Placement
	return !isDecided(w) || slices.Contains(p.Clusters, member) || slices.Contains(p.Leaving, member)
}

func (s *Store) show(member, name string, id wrapperID, shown []rules.Shown) {
	set := s.set(id)
	changed, refused := set.Show(member, shown, s.clock.Now())
	if set.Shows(member) {
		s.member(member).shown[name] = id
	}
	s.dropEmpty(id)
	s.logRefused(refused)
	if changed {
		s.wake(id.Key)
	}
}

// leave records that a member shows nothing by this Delivery any more.
func (s *Store) leave(member, name string) {
	m := s.member(member)
	id, shows := m.shown[name]
	delete(m.shown, name)
	if set := s.sets[id]; shows && set != nil && set.Leave(member) {
		s.wake(id.Key)
	}
	s.dropEmpty(id)
}

func (s *Store) set(id wrapperID) *rules.Set {
	if s.sets[id] == nil {
		s.sets[id] = rules.NewSet(&s.memory, weigh)
	}
	return s.sets[id]
}

func (s *Store) dropEmpty(id wrapperID) {
	if set := s.sets[id]; set != nil && len(set.Members()) == 0 {
		delete(s.sets, id)
	}
}

func weigh(e *v1alpha1.Evidence) int {
	return boundedread.EvidenceWeight([]v1alpha1.ObjectEvidence{{Evidence: *e}})
}

func (s *Store) member(name string) *memberRecord {
	if s.members[name] == nil {
		s.members[name] = &memberRecord{omitted: sets.New[string](), changed: sets.New[string](), shown: make(map[string]wrapperID)}
	}
	return s.members[name]
}

// Listed implements deliveries.Listener. The member shows nothing by Deliveries that are not in the list.
func (s *Store) Listed(x *deliveries.Index, generations map[string]int64) {
	if s.deliveries.Of(x.Member()) != x {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.member(x.Member())
	m.read, m.changed = true, nil
	for name := range m.omitted {
		if _, listed := generations[name]; !listed {
			m.omitted.Delete(name)
		}
	}
	for name := range m.shown {
		if _, listed := generations[name]; !listed {
			s.leave(x.Member(), name)
		}
	}
}

// Readable implements deliveries.Listener.
func (*Store) Readable(*deliveries.Index, bool) {}

// Unreadable implements deliveries.Listener. The member keeps what it showed last.
func (*Store) Unreadable(*deliveries.Index) {}

// Forget records that a MemberCluster was deleted.
func (s *Store) Forget(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.member(member).shown {
		s.leave(member, name)
	}
	delete(s.members, member)
}

// desired is what the store knows about the reports of one wrapper.
type desired struct {
	// wrapper is nil if the host has no such wrapper.
	wrapper v1alpha1.Wrapper
	reports []rules.Report
}

// desired returns the reports that a wrapper has to have. ok is false while the manager cannot know that.
func (s *Store) desired(key deliveries.Key) (d desired, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.wrapper = s.wrappers[key]; d.wrapper == nil {
		return d, s.complete
	}
	if set := s.sets[wrapperID{key, d.wrapper.GetUID()}]; set != nil {
		d.reports = set.Reports()
	}
	return d, s.complete && isDecided(d.wrapper)
}

// restore adds a report of an earlier process of the manager. Of its members only those count whose Deliveries this process has not
// read yet, and on which the wrapper is placed.
func (s *Store) restore(key deliveries.Key, uid types.UID, report rules.Key, status *v1alpha1.MemberReportStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := wrapperID{key, uid}
	set := s.set(id)
	set.Restore(report, status, func(member string) bool {
		m := s.members[member]
		return (m == nil || !m.read && !m.changed.Has(key.Delivery()) || m.omitted.Has(key.Delivery())) && s.counts(id, member)
	})
	for _, member := range status.Clusters {
		if set.Shows(member) {
			s.member(member).shown[key.Delivery()] = id
		}
	}
	s.dropEmpty(id)
}

// logRefused logs that there was no memory for evidence, at most once a minute.
func (s *Store) logRefused(more int) {
	s.refused += more
	now := s.clock.Now()
	if more == 0 || now.Sub(s.logged) < logEvery {
		return
	}
	s.log.Info("there is no memory for more evidence of members, so some MemberReports are missing or out of date; give the manager more with --member-reports-memory",
		"refused", s.refused, "usedBytes", s.memory.used, "limitBytes", s.memory.limit, "limitBytesPerMember", s.memory.limit/share)
	s.refused, s.logged = 0, now
}
