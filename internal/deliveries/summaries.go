// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// summaries has the summaries of one member's Deliveries, by the names of the Deliveries, and what the host notes about
// each.
type summaries struct {
	mu sync.Mutex
	// listed is true after the first complete list. Before that, a Delivery without a summary here may still exist.
	listed bool
	all    map[string]*Summary
	// recalled has the name of a Delivery if the method recall was called already for its present summary.
	recalled sets.Set[string]
	// recorded has the generation of a Delivery after its last pass, if that pass recorded in the Delivery all that it
	// did.
	recorded map[string]int64
	// weight is the weight of all summaries, in bytes.
	weight int
	// unreadable is the reason why the host cannot read the Deliveries; "" when it can.
	unreadable string
}

func newSummaries() *summaries {
	return &summaries{all: make(map[string]*Summary), recalled: sets.New[string](), recorded: make(map[string]int64)}
}

// get returns the summary of a Delivery; nil if there is none.
func (s *summaries) get(name string) *Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[name]
}

// recall implements Index.Recall. isCurrent reports whether the summary is current, as far as the host can tell.
func (s *summaries) recall(name string, isCurrent bool) *Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.all[name]
	if is == nil || s.recalled.Has(name) {
		return nil
	}
	s.recalled.Insert(name)
	if !isCurrent || !s.listed || s.unreadable != "" {
		return nil
	}
	return is
}

// noteRecorded implements Index.Recorded.
func (s *summaries) noteRecorded(name string, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded[name] = generation
}

// takeRecorded implements Index.TakeRecorded.
func (s *summaries) takeRecorded(name string, is *Summary) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	generation, ok := s.recorded[name]
	delete(s.recorded, name)
	return ok && is != nil && is.Generation == generation
}

// record returns what is known about a Delivery.
func (s *summaries) record(name string) Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Record{Listed: s.listed, Unreadable: s.unreadable, Summary: s.all[name]}
}

// isListed reports whether the host has read a complete list of the member's Deliveries.
func (s *summaries) isListed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// names returns the names of all Deliveries.
func (s *summaries) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.all))
	for name := range s.all {
		names = append(names, name)
	}
	return names
}

// put stores the present summary of a Delivery, and returns the previous one; nil if there was none.
func (s *summaries) put(name string, is *Summary) (was *Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.all[name]
	s.all[name] = is
	s.recalled.Delete(name)
	if was != nil && was.UID != is.UID {
		delete(s.recorded, name)
	}
	s.weight += is.weight() - was.weight()
	return was
}

// remove removes the summary of a Delivery, and returns it; nil if there was none.
func (s *summaries) remove(name string) (was *Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.all[name]
	delete(s.all, name)
	s.recalled.Delete(name)
	delete(s.recorded, name)
	s.weight -= was.weight()
	return was
}

// setListed records that a complete list was stored. first is true for the first complete list. again is true if the
// Deliveries could not be read before.
func (s *summaries) setListed() (first, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, again = !s.listed, s.unreadable != ""
	s.listed, s.unreadable = true, ""
	return first, again
}

// hasRoomFor reports whether the summaries stay within maxWeight if this one is stored.
func (s *summaries) hasRoomFor(name string, is *Summary) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.weight-s.all[name].weight()+is.weight() <= maxWeight
}

// setUnreadable records why the host cannot read the Deliveries, and reports whether the reason is new.
func (s *summaries) setUnreadable(why string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news = s.unreadable != why
	s.unreadable = why
	return news
}
