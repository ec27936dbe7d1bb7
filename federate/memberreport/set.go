// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"maps"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// maxReports is the greatest number of reports of one wrapper.
	maxReports = 10
	// maxSamples is the greatest number of samples that a Set keeps. It is more than maxReports: when a report goes away, another key
	// with a sample can take its place.
	maxSamples = 2 * maxReports
	// aloneSamples is how many samples a member may have for keys that no other member shows. It may have more only if places are left.
	aloneSamples = 5
)

// Account bounds the memory of all Sets. Every byte is counted for one member.
type Account interface {
	// Take counts this many bytes for a member. It returns false, and counts nothing, if the bounds do not allow that.
	Take(member string, bytes int) bool
	// Add counts this many bytes for a member without regard to the bounds. A negative number gives bytes back.
	Add(member string, bytes int)
}

// Set is what members show of one wrapper. It is not safe for concurrent use.
type Set struct {
	groups groups
	// samples has the samples that the Set keeps, at most maxSamples.
	samples samples
}

// NewSet makes the Set of one wrapper. weigh returns the number of bytes that evidence takes in memory.
func NewSet(account Account, weigh func(*v1alpha1.Evidence) int) *Set {
	return &Set{groups: newGroups(account), samples: samples{account: account, weigh: weigh, byKey: make(map[Key]*sample)}}
}

// Members returns the members that show anything, sorted.
func (s *Set) Members() []string { return slices.Sorted(maps.Keys(s.groups.shown)) }

// Shows reports whether a member shows anything.
func (s *Set) Shows(member string) bool { return len(s.groups.shown[member]) > 0 }

// Show records everything that a member shows now, and forgets what the member no longer shows. changed is true if the reports may
// have changed. refused is the number of samples and members that the account did not allow.
func (s *Set) Show(member string, all []Shown, now time.Time) (changed bool, refused int) {
	for _, old := range slices.Clone(s.groups.shown[member]) {
		if !slices.ContainsFunc(all, func(is Shown) bool { return is.Key == old }) {
			s.leave(member, old)
			changed = true
		}
	}
	for i := range all {
		key := all[i].Key
		joined, ok := s.groups.join(member, &all[i])
		if !ok {
			refused++
			continue
		}
		sampled, ok := s.sample(key, &sample{member: member, message: all[i].Message, observed: now, evidence: all[i].Evidence})
		if !ok {
			refused++
		}
		changed = changed || joined || sampled
	}
	return changed, refused
}

// Leave records that a member shows nothing. It returns true if the member showed something before.
func (s *Set) Leave(member string) bool {
	changed, _ := s.Show(member, nil, time.Time{})
	return changed
}

// Restore records a report that an earlier process of the manager wrote. It keeps only those members of the report for which isUnread
// returns true: this process has not read their Deliveries yet, so they may still show the same.
func (s *Set) Restore(key Key, status *v1alpha1.MemberReportStatus, isUnread func(member string) bool) {
	for _, member := range status.Clusters {
		if isUnread(member) && !s.groups.has(member, key) {
			s.groups.restore(member, key, status.Object, status.Reason)
		}
	}
	if s.groups.byKey[key] == nil || s.samples.byKey[key] != nil || status.Cluster == "" {
		return
	}
	s.samples.restore(key, &sample{member: status.Cluster, message: status.Message, observed: status.ObservedTime.Time, evidence: status.Evidence})
	s.dropSamples()
}

// Close gives all memory back to the account.
func (s *Set) Close() {
	for _, member := range s.Members() {
		s.Leave(member)
	}
}

func (s *Set) leave(member string, key Key) {
	if gone := s.groups.leave(member, key); gone {
		s.samples.drop(key)
	}
}

// sample stores a sample for a key in three cases: the key has none and is important; the member of the present sample no longer shows
// the key; or the present sample is of the same member. ok is false if the account does not allow the new sample; the present one then
// stays.
func (s *Set) sample(key Key, is *sample) (changed, ok bool) {
	was := s.samples.byKey[key]
	switch {
	case was == nil && !s.isImportant(key):
		return false, true
	case was == nil:
	case was.member != is.member && s.groups.byKey[key].members[was.member]:
		return false, true
	case was.isSame(is):
		return false, true
	}
	if !s.samples.replace(key, is) {
		return false, false
	}
	s.dropSamples()
	return true, true
}

// isImportant reports whether a key without a sample is important enough to get one of the places for samples.
func (s *Set) isImportant(key Key) bool {
	sampled := s.sampled()
	if len(sampled) < maxSamples {
		return true
	}
	sampled = append(sampled, key)
	slices.SortFunc(sampled, s.groups.compare)
	return slices.Contains(s.groups.choose(sampled, maxSamples, aloneSamples), key)
}

// dropSamples drops the least important samples, until maxSamples are left.
func (s *Set) dropSamples() {
	sampled := s.sampled()
	kept := s.groups.choose(sampled, maxSamples, aloneSamples)
	for _, key := range sampled {
		if !slices.Contains(kept, key) {
			s.samples.drop(key)
		}
	}
}

// sampled returns the keys that have a sample, the most important first.
func (s *Set) sampled() []Key {
	return slices.SortedFunc(maps.Keys(s.samples.byKey), s.groups.compare)
}
